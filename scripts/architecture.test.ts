/** The direction of imports, as docs/architecture.md states it, checked on the code itself. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

const core = 'server/src/multipaxos';
/** The other protocols: their hosts alone know them. */
const otherCores = ['server/src/paxos', 'server/src/primary'];
const api = 'server/src/api';
const ports = 'server/src/ports';
const payload = 'server/src/payload';
const shapes = 'server/src/shapes';
/** What PostgreSQL's WAL is: everybody may speak of it. */
const wal = 'server/src/wal';
/** What PostgreSQL's protocol is: likewise. */
const pgwire = 'server/src/pgwire';
const determinism = 'server/src/determinism';
/** An evaluator of TLA+. */
const tla = 'harness/tla';

/** What each folder may import besides itself: folders, or single files of them; packages by `npm:`. Tests and testing folders may take more. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'server/src/multipaxos': [],
  'server/src/paxos': [core],
  'server/src/primary': [core],
  // Of the parser nobody else knows.
  'server/src/determinism': [pgwire, 'npm:libpg-query', 'node:'],
  'server/src/wal': [core],
  'server/src/pgwire': [],
  // Of the other cores their words alone.
  'server/src/api': [core, wal, 'server/src/paxos/types', 'server/src/primary/types'],
  // A stream is an interface of the platform, as a promise is one of the language.
  'server/src/ports': [core, api, wal, 'node:stream'],
  'server/src/payload': [core, wal, pgwire, ports, api, 'npm:pino'],
  'server/src/shapes': ['npm:zod'],
  'server/src/config': [core, shapes, 'server/src/adapters/file-system.ts', 'npm:', 'node:'],
  'server/src/replica': [
    core,
    ...otherCores,
    wal,
    pgwire,
    payload,
    ports,
    api,
    determinism,
    'server/src/config',
    'server/src/shapes/host.ts',
    'npm:pino',
    'node:',
  ],
  'server/src/adapters': [core, wal, pgwire, payload, ports, api, 'npm:', 'node:'],
  'server/src/gateways': [
    core,
    pgwire,
    ports,
    api,
    shapes,
    'server/src/adapters/file-system.ts',
    'server/src/adapters/http-turns.ts',
    'npm:',
    'node:',
  ],
  'server/src/main': ['server/src', 'npm:pino', 'node:'],
  'server/src/demo': ['server/src', 'npm:', 'node:'],
  'server/src/cli': ['server/src', 'npm:commander', 'node:'],
  // The specifications are read and walked through in the page itself; the evaluator imports nothing.
  'dashboard/src': [api, 'server/src/multipaxos/types', 'specs', 'docs', tla, 'npm:'],
  // It runs in Node.js and in a browser alike.
  [tla]: [],
  // The conformance check in a Worker of the browser.
  'dashboard/check': [
    'dashboard/src',
    'dashboard/sim/browser',
    'harness/conformance',
    'harness/tla',
    'server/src',
    'specs',
  ],
  // A group of whole replicas in a Worker of the browser.
  'dashboard/sim': ['dashboard/src', 'server/src', 'npm:', 'node:'],
  // The demo over simulated groups, and what the page makes of them.
  'dashboard/dev': [
    'dashboard/src',
    'dashboard/sim',
    'server/src',
    'harness/groups',
    'harness/nemesis/mutate.ts',
    // What every report says and shows.
    'harness/bench',
    'npm:',
    'node:',
  ],
};

/** These take of those no more than types: nothing of it is loaded with them. */
const typesOnly: readonly (readonly [folder: string, of: readonly string[]])[] = [
  ['server/src/ports', [core, api, wal]],
  ['server/src/payload', [ports, api, 'npm:']],
  ['server/src/config', [core]],
  ['server/src/replica', [determinism, 'server/src/config', 'npm:']],
  ['server/src/gateways', [core, ports]],
  ['dashboard/src', [api, core]],
];

/** What only these may import: how a replica is put together, run and asked is nobody else's business. */
const importersOf: Readonly<Record<string, readonly string[]>> = {
  'server/src/main': [
    'server/src/main',
    'server/src/cli',
    'server/src/demo',
    'dashboard/sim',
    'dashboard/dev',
  ],
  'server/src/demo': ['server/src/demo', 'server/src/cli', 'dashboard/sim', 'dashboard/dev'],
  'server/src/cli': ['server/src/cli', 'server/src/main', 'server/src/demo'],
};

/** Of the page: what is known, where it goes and how it is said, apart from what draws it. */
const belowViews = [
  'model',
  'layout',
  'glossary',
  'present',
  'run',
  'live',
  'scenarios',
  'timeline',
  'stage',
  'compare',
] as const;

function sources(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = `${folder}/${name}`;
    if (name === 'testing' || name === 'testing.ts' || /\.test\.tsx?$/.test(name)) return [];
    if (statSync(join(root, path)).isDirectory()) return sources(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

function testFiles(): string[] {
  const folders = ['server/src', 'harness', 'dashboard', 'scripts', 'packaging'];
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.test\.tsx?$/.test(name) && !name.includes('node_modules'))
      .map((name) => `${folder}/${name}`),
  );
}

interface Import {
  readonly target: string;
  readonly isType: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const statements = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b([^'";]*?)from\s*'([^']+)'/g)];
  return statements.map(([, clause = '', specifier = '']) => ({
    target: targetOf(file, specifier),
    isType: /^\s*type\b/.test(clause),
  }));
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  if (!specifier.startsWith('.')) return `npm:${specifier}`;
  return relative(root, resolve(root, dirname(file), specifier));
}

function isIn(target: string, prefix: string): boolean {
  const isWhole = prefix.includes(':') || prefix.endsWith('.ts');
  return isWhole ? target.startsWith(prefix) : target.startsWith(`${prefix}/`);
}

/** Without comments. */
function codeOf(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
}

const ownSessions = 'server/src/adapters/postgres/pg-client.ts';
const sessionOfClients = 'server/src/adapters/postgres/statements/session-connection.ts';
const messages = 'server/src/adapters/postgres/replication/messages.ts';

/**
 * What a session with PostgreSQL can be made of, and the modules that may have it. Sessions of Barista's own, as the superuser, are all made in one module, which pins their settings.
 * Sessions of clients are opened by the gateway and the executor of statements, with the client's own startup packet; the demo is a client of the gateway.
 */
const sessionMakers: readonly (readonly [what: string, pattern: RegExp, may: readonly string[]])[] = [
  [
    'a value of the package pg',
    /(?:^|\n)\s*import\s+(?!type\b)(?!\{(?:\s*type\s+\w+,?)+\s*\})(?!\{ types \})[^'";]*from\s*'pg'|(?:import|require)\('pg'\)/,
    [ownSessions, 'server/src/demo/sql-session.ts', 'server/src/demo/sql-console.ts'],
  ],
  [
    'a startup packet: the version of the protocol',
    /196_?608|\b3 << 16\b|0x0*3_?0000\b/,
    [messages, 'server/src/gateways/thrift/sql/wire-messages.ts', sessionOfClients],
  ],
  ['a startup packet', /\bstartupPacket\b/, [ownSessions, messages, sessionOfClients]],
  [
    "a program of PostgreSQL's that opens sessions",
    /['"`/](?:psql|pg_dump|pg_dumpall|pg_restore|pg_basebackup|pg_receivewal|pg_rewind|pg_amcheck|pg_isready|vacuumdb|reindexdb|clusterdb|createdb|dropdb|createuser|dropuser|pgbench)['"`]/,
    [],
  ],
];

const accountFiles = 'server/src/adapters/postgres/account-files.ts';

/** Beside PostgreSQL, what touches files without account-files.ts: each has to do with other places than a data directory. */
const otherPlaces = [
  // The programs, /proc, and whose a directory is.
  'binaries.ts',
  'copy/installation.ts',
  'launch-user.ts',
  'owners.ts',
  'process-identity.ts',
  'reachable-programs.ts',
  'work-mark.ts',
  // Beside the data directory, where PostgreSQL's account cannot write.
  'copy/copy-basis.ts',
  'database-directory.ts',
  'directory-state.ts',
  'instance/postgres-instance.ts',
  'log-file.ts',
  'log-pipe.ts',
  'kept/kept-directory.ts',
  // The directories of sockets.
  'data-directory.ts',
  'replication/standby-feed.ts',
  // Operators' directories of backups and archives.
  'archive/archive-contents.ts',
  'archive/archive-writer.ts',
  'archive/segment-writer.ts',
  'archive/wal-archive.ts',
  'backup/backup-choice.ts',
  'backup/backup-directory.ts',
  'backup/backup-file.ts',
  'backup/readable-archive.ts',
].map((name) => `server/src/adapters/postgres/${name}`);

/** What touches files; constants, links between two copies and questions about a whole file system are none of it. */
const fileCalls =
  /import\s*(?:\*|\{(?!(?:\s*(?:type\s+\w+|constants|statfs|realpath|link),?)+\s*\})[^}]*\})[^'";]*from\s*'(?:node:fs(?:\/promises)?|[./]*file-system\.ts)'/;

/** Files that load each other in a circle, one file of it first and last; null: there is none. */
function findCircle(files: readonly string[]): string[] | null {
  const done = new Set<string>();
  const path: string[] = [];
  function visit(file: string): string[] | null {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    path.push(file);
    for (const { target, isType } of importsOf(file)) {
      const circle = isType || !files.includes(target) ? null : visit(target);
      if (circle !== null) return circle;
    }
    path.pop();
    done.add(file);
    return null;
  }
  for (const file of files) {
    const circle = visit(file);
    if (circle !== null) return circle;
  }
  return null;
}

describe('imports', () => {
  it('the server reads files by what waits for no pipe or device', () => {
    // Of the kernel, or of the package itself.
    const others = new Set(
      [
        'adapters/file-system.ts',
        'adapters/mount-point.ts',
        'adapters/postgres/binaries.ts',
        'adapters/postgres/account-files.ts',
        // Behind a look whether it is a file.
        'adapters/postgres/backup/readable-archive.ts',
        'adapters/postgres/archive/archive-writer.ts',
        'adapters/postgres/process-identity.ts',
        'adapters/postgres/work-mark.ts',
        'adapters/segment-log/directory-lock.ts',
        'cli/doctor/collect-places.ts',
        'cli/run-cli.ts',
        'demo/wipe.ts',
        'main/build-info.ts',
      ].map((name) => `server/src/${name}`),
    );
    const reading =
      /import\s*\{[^}]*\b(?:readFile(?:Sync)?|createReadStream|copyFile(?:Sync)?)\b[^}]*\}\s*from\s*'node:fs(?:\/promises)?'/;
    const found = sources('server/src').filter(
      (file) => !others.has(file) && reading.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(found).toEqual([]);
  });

  it.each(Object.entries(allowed))('%s takes only what it may', (folder, may) => {
    const files = sources(folder);
    expect(files.length).toBeGreaterThan(0);
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => ![folder, ...may].some((prefix) => isIn(target, prefix)))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('every folder of the server has its rule', () => {
    const folders = readdirSync(join(root, 'server/src')).map((name) => `server/src/${name}`);
    expect(folders.filter((folder) => allowed[folder] === undefined)).toEqual([]);
  });

  it.each(typesOnly)('%s takes no more than types of %j', (folder, of) => {
    const wrong = sources(folder).flatMap((file) =>
      importsOf(file)
        .filter(({ target, isType }) => !isType && of.some((prefix) => isIn(target, prefix)))
        .map(({ target }) => `${file} imports a value of ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('no two folders take of each other, not even types', () => {
    const takes = (folder: string, of: string): boolean =>
      sources(folder).some((file) => importsOf(file).some(({ target }) => isIn(target, of)));
    const pairs = Object.keys(allowed).flatMap((a, i, all) => all.slice(i + 1).map((b) => [a, b] as const));
    expect(pairs.filter(([a, b]) => takes(a, b) && takes(b, a))).toEqual([]);
  });

  it.each(Object.entries(importersOf))('%s is imported by %j alone', (folder, by) => {
    const wrong = Object.keys(allowed)
      .filter((importer) => !by.includes(importer))
      .flatMap((importer) => sources(importer))
      .filter((file) => importsOf(file).some(({ target }) => isIn(target, folder)));
    expect(wrong).toEqual([]);
  });

  it.each(belowViews)('dashboard/src/%s takes nothing of what is drawn', (folder) => {
    const drawn = ['dashboard/src/components', 'dashboard/src/views'];
    const files = sources(`dashboard/src/${folder}`);
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => drawn.some((of) => isIn(target, of)))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('no file of the server is loaded by what it loads itself', () => {
    expect(findCircle(sources('server/src'))).toBeNull();
  });

  it('only pg-client.ts opens sessions of our own with PostgreSQL', () => {
    const wrong = sources('server/src').flatMap((file) =>
      sessionMakers
        .filter(([, pattern, may]) => !may.includes(file) && pattern.test(codeOf(file)))
        .map(([what]) => `${file}: ${what}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each(sessionMakers)('%s: the rule finds what it is about', (_, pattern, may) => {
    expect(may.filter((file) => !pattern.test(codeOf(file)))).toEqual([]);
  });

  it('only account-files.ts touches what is in a data directory, where PostgreSQL’s account can put links', () => {
    const touching = sources('server/src/adapters/postgres').filter((file) => fileCalls.test(codeOf(file)));
    expect(touching.toSorted()).toEqual([accountFiles, ...otherPlaces].toSorted());
  });

  it('nothing of the server waits for an advisory lock, which any client can hold, but for a name of the same role, and that a second or two at a time', () => {
    const waits = /pg_advisory_(?:xact_)?lock(?:_shared)?\s*\(/g;
    const found = sources('server/src').flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(waits)].map(() => file),
    );
    expect(found).toEqual(['server/src/adapters/postgres/requests/request-schema.ts']);
  });

  it('names of databases are read as bytes (exact-name.ts), but for people who look on', () => {
    const asText = /(?:\bselect|,)\s+(?:\w+\.)?datname\b(?! (?:AS bytes|= 'template0'))/i;
    const found = sources('server/src/adapters').filter((file) => asText.test(codeOf(file)));
    expect(found.map((file) => file.split('/').at(-1))).toEqual([
      'running-transactions.ts',
      'weakened-commits.ts',
    ]);
  });

  it('SQL that the server sends in clients’ sessions writes each operator with its schema', () => {
    // That of its own sessions is looked at as PostgreSQL hears it (own-statements.pg.test.ts).
    const places = ['server/src/gateways', 'server/src/payload', 'server/src/pgwire'];
    const literal = /(ownSql\(\s*)?(`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/g;
    const written = /(?<=\s)(?:=|<>|<=|>=|<|>|\+|-|\|\||%)(?=\s)/;
    const hidden = /\b(?:IN|LIKE|ILIKE|BETWEEN|NULLIF|DISTINCT FROM)\b/;
    const found = places.flatMap(sources).flatMap((file) =>
      [...codeOf(file).matchAll(literal)].flatMap(([, qualifies, text = '']) => {
        const sql = text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, '');
        if (!/\bpg_(?:catalog|barista)\./.test(sql) || !/\b(?:SELECT|WHERE|CASE)\b/.test(sql)) return [];
        const unquoted = sql.replaceAll(/'[^']*'/g, "''");
        const isWrong = hidden.test(unquoted) || (qualifies === undefined && written.test(unquoted));
        return isWrong ? [`${file}: ${sql.slice(0, 80)}`] : [];
      }),
    );
    expect(found).toEqual([]);
  });

  it('whoever serves a client takes what it sends by turns with all others', () => {
    /** They read a few messages, or a request at a time. */
    const others = ['session/server-lives.ts', 'kept/log-in.ts', 'statements/statement-session.ts'];
    const folders = ['session', 'kept', 'statements'].map((name) => `server/src/gateways/pgwire/${name}`);
    const listeners = folders
      .flatMap((folder) => sources(folder))
      .filter((file) => !others.some((other) => file.endsWith(other)))
      .flatMap((file) =>
        codeOf(file)
          .split(/\(\s*'data',/)
          .slice(1)
          .map((act) => ({ file, act })),
      );
    expect(listeners.length).toBeGreaterThan(3);
    const wrong = listeners.filter(({ act }) => !/(?:fromClient|intake)\.add\(/.test(act.slice(0, 150)));
    expect(wrong).toEqual([]);
  });

  it('nothing of the server makes directories by Node’s recursive call, which hangs below /proc', () => {
    const recursive = /\bmkdir(?:Sync)?\([^;]*\brecursive\b/;
    expect(sources('server/src').filter((file) => recursive.test(codeOf(file)))).toEqual([]);
  });

  it('no test has a limit of its own, which a busy machine would pass', () => {
    // The second: those of Vitest. Playwright's stand behind `waitFor(`.
    const limit = /^\s{0,4}\},\s+\d[\d_]{3,},?\s*\);|^(?!.*waitFor\().*\btimeout: \d/m;
    expect(testFiles().filter((file) => limit.test(codeOf(file)))).toEqual([]);
  });

  it('each decision has a number of its own', () => {
    const numbers = readdirSync(join(root, 'docs/adr')).map((name) => name.slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)]);
  });

  it('the core knows no clock, no randomness, no timers and no promises', () => {
    const impure =
      /\b(Date\.|new Date|Math\.random|setTimeout|setInterval|setImmediate|process\.|async |await |new Promise\b|console\.)/;
    const wrong = sources('server/src/multipaxos').filter((file) => impure.test(codeOf(file)));
    expect(wrong).toEqual([]);
  });
});
