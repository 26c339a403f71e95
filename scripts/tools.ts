/** The tools that the tests need besides npm's packages: how each is found, and the packages it comes in. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromiumPath } from '../dashboard/dev/testing/browser-page.ts';
import { findJava } from './specs/java.ts';

export const managers = ['apt-get', 'dnf', 'brew'] as const;
export type Manager = (typeof managers)[number];

export type ToolId =
  | 'java'
  | 'maven'
  | 'psql'
  | 'pgbouncer'
  | 'thrift'
  | 'go'
  | 'c++'
  | 'python'
  | 'chromium';

export interface Tool {
  readonly id: ToolId;
  readonly name: string;
  /** What is not tried without it. */
  readonly neededFor: string;
  isHere(): boolean;
  readonly packages: Readonly<Record<Manager, readonly string[]>>;
}

function runs(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

function findsJava(): boolean {
  try {
    findJava();
    return true;
  } catch {
    return false;
  }
}

function packages(apt: string, dnf: string, brew: string): Tool['packages'] {
  const names = (list: string): string[] => list.split(' ');
  return { 'apt-get': names(apt), dnf: names(dnf), brew: names(brew) };
}

const thriftHeaders = [
  '-fsyntax-only',
  '-include',
  'thrift/transport/TSSLSocket.h',
  '-x',
  'c++',
  '/dev/null',
];

export const tools: readonly Tool[] = [
  {
    id: 'java',
    name: 'Java 11 or later, with its compiler',
    neededFor: 'TLC, which checks the specs; ZooKeeper; the Java clients',
    isHere: () => findsJava() && runs('javac', '-version'),
    packages: packages('default-jdk-headless', 'java-latest-openjdk-devel', 'openjdk'),
  },
  {
    id: 'maven',
    name: 'Maven',
    neededFor: 'fetching TLC and ZooKeeper; the Java clients',
    isHere: () => runs('mvn', '-v'),
    packages: packages('maven', 'maven', 'maven'),
  },
  {
    id: 'psql',
    name: 'psql and pgbench',
    neededFor: "PostgreSQL's own tools as clients",
    isHere: () => runs('psql', '--version') && runs('pgbench', '--version'),
    packages: packages('postgresql', 'postgresql postgresql-contrib', 'postgresql@18'),
  },
  {
    id: 'pgbouncer',
    name: 'PgBouncer',
    neededFor: 'PgBouncer in front of a cluster',
    isHere: () => runs('pgbouncer', '--version'),
    packages: packages('pgbouncer', 'pgbouncer', 'pgbouncer'),
  },
  {
    id: 'thrift',
    name: "Thrift's compiler",
    neededFor: 'the sample clients of the Thrift API',
    isHere: () => runs('thrift', '-version'),
    packages: packages('thrift-compiler', 'thrift', 'thrift'),
  },
  {
    id: 'go',
    name: 'Go',
    neededFor: 'the Go clients',
    isHere: () => runs('go', 'version'),
    packages: packages('golang', 'golang', 'go'),
  },
  {
    id: 'c++',
    name: 'make, a C++ compiler, and the libraries of Thrift, Boost and OpenSSL',
    neededFor: 'the C++ client',
    isHere: () => runs('make', '-v') && runs('g++', ...thriftHeaders),
    packages: packages(
      'make g++ libthrift-dev libboost-dev libssl-dev',
      'make gcc-c++ thrift-devel boost-devel openssl-devel',
      'make gcc thrift boost openssl',
    ),
  },
  {
    id: 'python',
    name: 'Python 3 with venv',
    neededFor: 'the Python clients',
    isHere: () => runs('python3', '-c', 'import ensurepip, venv'),
    packages: packages('python3 python3-venv', 'python3', 'python3'),
  },
  {
    id: 'chromium',
    name: 'Chromium',
    neededFor: 'the tests of the dashboard and the lab',
    isHere: () => existsSync(chromiumPath),
    packages: packages('chromium', 'chromium', '--cask chromium'),
  },
];

export function missingTools(all: readonly Tool[] = tools): readonly Tool[] {
  return all.filter((tool) => !tool.isHere());
}

/** Null: none of those that this knows. */
export function findManager(): Manager | null {
  return managers.find((manager) => runs(manager, '--version')) ?? null;
}

export type Command = readonly [program: string, ...args: string[]];

/** What installs `missing`. brew must not run as root, and takes casks apart from the rest; the others need root. */
export function installCommands(
  manager: Manager,
  missing: readonly Tool[],
  isRoot: boolean,
): readonly Command[] {
  const names = missing.flatMap((tool) => tool.packages[manager]);
  const asRoot = (...command: Command): Command => (isRoot ? command : ['sudo', ...command]);
  switch (manager) {
    case 'apt-get': {
      const install = ['apt-get', 'install', '-y', '--no-install-recommends'] as const;
      return [
        asRoot('apt-get', 'update', '-q'),
        asRoot('env', 'DEBIAN_FRONTEND=noninteractive', ...install, ...names),
      ];
    }
    case 'dnf':
      return [asRoot('dnf', 'install', '-y', ...names)];
    case 'brew': {
      const isCask = (name: string): boolean => name.startsWith('--cask ');
      const plain = names.filter((name) => !isCask(name));
      const casks = names.filter(isCask).map((cask): Command => ['brew', 'install', '--cask', cask.slice(7)]);
      return plain.length === 0 ? casks : [['brew', 'install', ...plain], ...casks];
    }
    default:
      throw new Error(`no way to install by ${String(manager satisfies never)}`);
  }
}
