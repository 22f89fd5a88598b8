"""Lists the tools of an MCP server and calls them, with the protocol's own SDK.

Reads a plan, JSON: `mode` (`auto` or `legacy`), `calls` (tool and arguments), and either `command` (the server as a list of words) or
`url`. Writes JSON: the version that was agreed on, the tools, and the answer of each call. The SDK validates structured content
against the tool's output schema.
"""

import json
import sys

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


def transport(plan):
    if "url" in plan:
        return streamable_http_client(plan["url"])
    program, *arguments = plan["command"]
    return stdio_client(StdioServerParameters(command=program, args=arguments))


async def call(client, tool, arguments):
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        return {"protocol_error": error.error.code, "message": error.error.message}
    return {
        "is_error": bool(result.is_error),
        "text": "".join(block.text for block in result.content),
        "structured": result.structured_content,
    }


async def main():
    plan = json.load(open(sys.argv[1]))
    async with Client(transport(plan), mode=plan["mode"]) as client:
        tools = (await client.list_tools()).tools
        answers = [await call(client, tool, arguments) for tool, arguments in plan["calls"]]
        version = client.protocol_version
    listed = [{"name": tool.name, "input_schema": tool.input_schema} for tool in tools]
    json.dump({"version": version, "tools": listed, "answers": answers}, sys.stdout)


anyio.run(main)
