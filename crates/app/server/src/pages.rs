//! The pages, from the binary.
//!
//! Every path that is not a file serves the application, whose scripts show what the path names, or that there is no such page, which
//! has the status 404. Browsers cache the files and revalidate them by their `ETag`.

use axum::Router;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use laggard_ui::Asset;

/// Cached, and revalidated each time.
const REVALIDATE: &str = "no-cache";

/// Paths of other parts of the server, whose unknown paths are errors.
const NOT_PAGES: &[&str] = &["api", "assets", "healthz", "jaeger", "metrics", "readyz", "tempo", "version"];

/// The fallback of all routes. To be merged with routes that have no fallback.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().fallback(serve)
}

async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let Some(asset) = find(uri.path()) else {
        return (StatusCode::NOT_FOUND, "There is nothing under this address.\n").into_response();
    };
    if method != Method::GET && method != Method::HEAD {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response();
    }
    let is_page = asset.path != laggard_ui::index().path || laggard_ui::is_page(uri.path());
    let described: [(HeaderName, &'static str); 3] =
        [(ETAG, asset.etag), (CACHE_CONTROL, REVALIDATE), (VARY, "accept-encoding")];
    if is_page && is_known(&headers, asset.etag) {
        return (StatusCode::NOT_MODIFIED, described).into_response();
    }
    let packed = asset.gzip.filter(|_| accepts_gzip(&headers));
    let bytes = packed.unwrap_or(asset.identity);
    let status = if is_page { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let mut response = (status, described, [(CONTENT_TYPE, asset.media_type())], bytes).into_response();
    if packed.is_some() {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The file of a path, or the page that shows what an address without one means.
fn find(path: &str) -> Option<&'static Asset> {
    let path = path.trim_start_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    let file = laggard_ui::asset(path);
    if file.is_some() || NOT_PAGES.contains(&first) {
        return file;
    }
    // A name with an extension is a file; a page instead of it would be confusing.
    let names_file = [".js", ".css", ".map", ".svg", ".png", ".ico", ".json", ".txt", ".xml", ".php"];
    let is_file = !path.contains('/') && names_file.iter().any(|end| path.ends_with(end));
    (!is_file).then(laggard_ui::index)
}

/// Whether the browser has this very version.
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag
    })
}

/// Whether `Accept-Encoding` names gzip with a weight above 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|choice| {
        let mut parts = choice.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        named && weight.unwrap_or(1.0) > 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    struct Answer {
        status: StatusCode,
        headers: HeaderMap,
        body: Vec<u8>,
    }

    fn send(method: &str, path: &str, headers: &[(HeaderName, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request.body(axum::body::Body::empty()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let response = routes::<()>().with_state(()).oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            Answer { status: parts.status, headers: parts.headers, body }
        })
    }

    #[test]
    fn every_page_path_serves_the_application() {
        for path in
            ["/", "/verdict?since=-1h", "/categories/9e30bd5512fa", "/traces/a.js", "/changes", "/index.html"]
        {
            let answer = send("GET", path, &[]);
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            assert_eq!(answer.body, laggard_ui::index().identity, "{path}");
            assert_eq!(answer.headers[CACHE_CONTROL], REVALIDATE, "{path}");
            assert_eq!(answer.headers[CONTENT_TYPE], "text/html; charset=utf-8");
        }
    }

    #[test]
    fn an_address_without_a_page_is_not_found() {
        for path in ["/nonsense", "/mcp", "/traces/a/b", "/%00/.."] {
            let answer = send("GET", path, &[(IF_NONE_MATCH, laggard_ui::index().etag)]);
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(answer.body, laggard_ui::index().identity, "{path}");
        }
    }

    #[test]
    fn unknown_paths_are_not_found() {
        for path in ["/api/v2/status", "/api", "/assets/gone.js", "/robots.txt", "/metrics", "/favicon.ico"] {
            assert_eq!(send("GET", path, &[]).status, StatusCode::NOT_FOUND, "{path}");
        }
        let posted = send("POST", "/verdict", &[]);
        assert_eq!(
            (posted.status, &posted.headers[ALLOW]),
            (StatusCode::METHOD_NOT_ALLOWED, &HeaderValue::from_static("GET, HEAD"))
        );
    }

    #[test]
    fn files_are_compressed_where_accepted_and_revalidated() {
        for asset in laggard_ui::assets() {
            let path = format!("/{}", asset.path);
            let plain = send("GET", &path, &[(ACCEPT_ENCODING, "gzip;q=0, identity")]);
            assert_eq!((plain.status, plain.headers.get(CONTENT_ENCODING)), (StatusCode::OK, None));
            assert_eq!(plain.body, asset.identity);
            assert_eq!(plain.headers[CACHE_CONTROL], REVALIDATE, "{path}");
            if let Some(gzip) = asset.gzip {
                let packed = send("GET", &path, &[(ACCEPT_ENCODING, "br, deflate, GZIP;q=0.9")]);
                assert_eq!(
                    (&packed.headers[CONTENT_ENCODING], &*packed.body),
                    (&HeaderValue::from_static("gzip"), gzip)
                );
            }
            let known = format!("\"other\", W/{}", asset.etag);
            let again = send("GET", &path, &[(IF_NONE_MATCH, &known)]);
            assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{path}");
        }
    }
}
