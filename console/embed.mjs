// node embed.mjs OUT: packs OUT/site and writes OUT/built_files.cc, the table that the program includes.
// Fails when a first visit would fetch more than the budget.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET = 250_000; // bytes, compressed
const FIRST_PAGE = ['index', 'plot']; // the names of its chunks: what the overview loads
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const out = process.argv[2];
const site = join(out, 'site');

function filesBelow(folder) {
  return readdirSync(join(site, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.name === '.vite') return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

function pack(path, index) {
  const bytes = readFileSync(join(site, path));
  const type = TYPES[extname(path)];
  if (!type) throw new Error(`${path}: say its content type in embed.mjs`);
  // The page itself is read as it is by whoever cannot unpack.
  const isGzip = extname(path) !== '.html';
  const packed = isGzip ? gzipSync(bytes, { level: 9 }) : bytes;
  const source = join(out, 'packed', String(index));
  writeFileSync(source, packed);
  const etag = createHash('sha256').update(packed).digest('hex').slice(0, 32);
  return {
    path,
    type,
    etag,
    isHashed: path.startsWith('/assets/'),
    isGzip,
    source,
    size: gzipSync(bytes, { level: 9 }).length,
  };
}

// What a browser fetches before the first page is there.
function firstLoad(files) {
  const manifest = JSON.parse(readFileSync(join(site, '.vite/manifest.json'), 'utf8'));
  const wanted = new Set(['/index.html', '/early.js', '/mode.js', '/favicon.svg']);
  const seen = new Set();
  const add = (name) => {
    const chunk = manifest[name];
    if (!chunk || seen.has(name)) return;
    seen.add(name);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) wanted.add(`/${file}`);
    (chunk.imports ?? []).forEach(add);
  };
  for (const name of FIRST_PAGE) {
    const chunk = Object.keys(manifest).find((key) => manifest[key].name === name);
    if (!chunk) throw new Error(`no chunk of the build is called ${name}`);
    add(chunk);
  }
  return files.filter((file) => wanted.has(file.path)).reduce((sum, file) => sum + file.size, 0);
}

function table(files) {
  const parts = files.map(
    (file, at) =>
      `    .globl dove_console_${at}\\n    .hidden dove_console_${at}\\ndove_console_${at}:\\n    .incbin \\"${file.source}\\"\\n    .globl dove_console_${at}_end\\n    .hidden dove_console_${at}_end\\ndove_console_${at}_end:\\n`,
  );
  const names = files.map(
    (_, at) => `extern const char dove_console_${at}[];\nextern const char dove_console_${at}_end[];`,
  );
  const rows = files.map(
    (file, at) =>
      `      {"${file.path}", "${file.type}", "\\"${file.etag}\\"", ${file.isHashed}, ${file.isGzip},\n       {dove_console_${at}, static_cast<std::size_t>(dove_console_${at}_end - dove_console_${at})}},`,
  );
  return `// Written by tools/console: the web console's files.
#include <array>

#include "webui/site.h"

asm(".pushsection .rodata\\n${parts.join('')}    .popsection\\n");
extern "C" {
${names.join('\n')}
}

namespace dove::webui {

std::span<const File> built_files() {
  static const std::array<File, ${files.length}> kFiles = {{
${rows.join('\n')}
  }};
  return kFiles;
}

}  // namespace dove::webui
`;
}

rmSync(join(out, 'packed'), { recursive: true, force: true });
mkdirSync(join(out, 'packed'));
const files = filesBelow('').sort().map(pack);
const size = firstLoad(files);
console.log(
  `the web console: ${files.length} files, first load ${Math.ceil(size / 1000)} kB of ${BUDGET / 1000} kB compressed`,
);
if (size > BUDGET) {
  console.error('the first load is over its budget: load later what the first page does not show');
  process.exit(1);
}
const target = join(out, 'built_files.cc');
const text = table(files);
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
