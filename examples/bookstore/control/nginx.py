"""The configuration of the web server in front."""

from collections.abc import Mapping

from shop.layout import HOST, STORES, Layout

TEMPLATE = """\
daemon off;
worker_processes 1;
{user}
pid {data}/run/nginx.pid;
error_log {data}/logs/nginx-error.log warn;
events {{ worker_connections 512; }}
http {{
    log_format timed '$remote_addr - $http_customer [$time_local] "$request" $status $body_bytes_sent '
                     '"$http_referer" "$http_user_agent" $request_time';
    access_log {data}/access.log timed;
    client_body_temp_path {data}/nginx;
    proxy_temp_path {data}/nginx;
    fastcgi_temp_path {data}/nginx;
    uwsgi_temp_path {data}/nginx;
    scgi_temp_path {data}/nginx;
    upstream store {{
{servers}
        keepalive 32;
    }}
    server {{
        listen {host}:{front};
        location / {{
            proxy_pass http://store;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_connect_timeout 1s;
            proxy_next_upstream error timeout;
        }}
    }}
}}
"""


def configuration(layout: Layout, weights: Mapping[str, int], is_root: bool) -> str:
    """Round robin over the replicas, by weight."""
    server = "        server {}:{} weight={} max_fails=1 fail_timeout=5s;"
    servers = [server.format(HOST, layout.store(name), weights.get(name, 1)) for name in STORES]
    return TEMPLATE.format(
        user="user root;" if is_root else "",
        data=layout.data,
        servers="\n".join(servers),
        host=HOST,
        front=layout.front,
    )
