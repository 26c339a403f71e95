#!/usr/bin/env node
// The `barista` command. What it does is in server/src/cli; this finds it, or says why it cannot be started.
// Nothing is loaded before the version of Node.js is known, and old ones must be able to read this file: no static import, no `await`, no `?.`.
const needed = 'Node.js 20.19, 22.12, 24 or a later version';
const filesMin = 300;

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major === 20) return minor >= 19;
  if (major === 22) return minor >= 12;
  return major >= 24;
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

/** Null: unknown, or unlimited. */
function filesMax() {
  const { userLimits } = process.report.getReport();
  const limit = userLimits && userLimits.open_files.soft;
  return typeof limit === 'number' ? limit : null;
}

function tooFewFiles() {
  const limit = filesMax();
  const number = limit === null ? '' : ` (${limit})`;
  return `Barista cannot be loaded: this process may open too few files${number}. Allow it at least ${filesMin}, better 4096 (ulimit -n 4096).`;
}

/** A module, or the package that it is of: Node.js calls them missing when it may open no more files. */
function isThere(fs, path, name) {
  const ofPackage = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)/.exec(name);
  if (path.isAbsolute(name)) return fs.existsSync(ofPackage === null ? name : ofPackage[1]);
  for (let at = path.dirname(fs.realpathSync(process.argv[1])); ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, 'node_modules', name))) return true;
    if (at === path.dirname(at)) return false;
  }
}

function explain(error, fs, path) {
  if (error.code === 'EMFILE' || error.code === 'ENFILE') return tooFewFiles();
  if (error.code !== 'ERR_MODULE_NOT_FOUND') return error.stack;
  const found = /'([^']+)'/.exec(error.message);
  if (found === null) return error.stack;
  if (isThere(fs, path, found[1])) {
    const limit = filesMax();
    return limit !== null && limit < filesMin ? tooFewFiles() : error.stack;
  }
  return `Barista is not built yet: ${found[1]} is missing. Run "npm ci" and "npm run build:server" first, or "npm start".`;
}

function start() {
  import('../server/dist/cli/main.js')
    .then((main) => main.run(process.argv))
    .then((code) => process.exit(code))
    .catch((error) =>
      Promise.all([import('node:fs'), import('node:path')]).then(([fs, path]) =>
        fail(explain(error, fs, path)),
      ),
    );
}

if (isNewEnough(process.versions.node)) start();
else
  fail(
    `Barista needs ${needed}, and this is ${process.versions.node} (${process.execPath}). Install one from https://nodejs.org, and put it first in PATH.`,
  );
