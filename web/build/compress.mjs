// Writes every text file of a folder compressed beside itself, so that the server need not do it for every request.
//
//     node build/compress.mjs dist

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TEXT = [".html", ".js", ".css", ".svg", ".json", ".txt", ".map"];

/** Smaller files fit into one packet anyway. */
const BYTES_MIN = 1024;

const folder = process.argv[2] ?? "dist";
const paths = readdirSync(folder, { recursive: true }).map((path) => join(folder, path));
for (const path of paths.filter((each) => TEXT.includes(extname(each)))) {
  const content = readFileSync(path);
  const forms = {
    br: brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
    gz: gzipSync(content, { level: 9 }),
  };
  for (const [end, packed] of Object.entries(forms)) {
    if (content.length >= BYTES_MIN && packed.length < 0.9 * content.length) writeFileSync(`${path}.${end}`, packed);
    else rmSync(`${path}.${end}`, { force: true });
  }
}
