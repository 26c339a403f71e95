/** Options that several commands share, and the checks of their values. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { accountVariable } from '../adapters/postgres/launch-user.ts';

/** Where a running demo is to be found. `dashboardPort` null: not given. */
export interface Target {
  readonly dashboardPort: number | null;
  readonly dataDir: string;
}

/** Whom an operator's command speaks to: a replica, by its configuration, or wherever it is by a token; or a running demo. */
export type Where =
  | { readonly kind: 'replica'; readonly configFile: string }
  | {
      readonly kind: 'url';
      readonly url: URL;
      readonly tokenFile: string | null;
      readonly authority: string | null;
    }
  | { readonly kind: 'demo'; readonly target: Target };

const defaultDataDir = '.barista';
/** Of root, where the account of PostgreSQL cannot enter the directory in which the command is given, such as root's home. */
const rootDataDir = '/var/lib/barista-demo';

export const exitCodesText = `
Exit codes: 0 done; 1 failed; 2 wrong option or configuration; 3 nobody answers; 4 refused; 5 replicas differ (verify).`;

export const whole = (min: number, max: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  }
  return value;
};
export const port = whole(1, 65_535);
const serverPattern = /^[^\s,/:]+:\d{1,5}$/;
export const path = (text: string): string => resolve(text);

export const servers = (text: string): readonly string[] => {
  const list = text.split(',');
  if (list.length > 9 || !list.every((each) => serverPattern.test(each)))
    throw new InvalidArgumentError('It must be host:port, or up to nine of these between commas.');
  return list;
};

export const dataDirOption = (): Option =>
  new Option('--data-dir <dir>', 'where the cluster is kept')
    .default(usualDataDir(), `${defaultDataDir}; of root, where others cannot enter that, ${rootDataDir}`)
    .argParser(path);

/** A demo that is here stays here. */
function usualDataDir(): string {
  const here = resolve(defaultDataDir);
  if (process.getuid?.() !== 0 || existsSync(here)) return here;
  for (let above = dirname(here); ; above = dirname(above)) {
    if ((statSync(above).mode & 0o001) === 0) return rootDataDir;
    if (above === dirname(above)) return here;
  }
}

/** The account that PostgreSQL runs as: the programs that this one starts find it where this one does. */
export const userOption = (): Option =>
  new Option(
    '--user <account>',
    'started as root: the account that PostgreSQL runs as (default: postgres, barista or nobody, the first that exists)',
  ).env(accountVariable);

export function withTarget(command: Command): Command {
  return command
    .option(
      '--dashboard-port <port>',
      "the demo's dashboard port (default: that of the data directory's demo)",
      port,
    )
    .addOption(dataDirOption());
}

/** As commander has them: an option that was not given is absent. */
export interface TargetOptions {
  readonly dashboardPort?: number;
  readonly dataDir: string;
}
export const targetOf = (options: TargetOptions): Target => ({
  dashboardPort: options.dashboardPort ?? null,
  dataDir: options.dataDir,
});

const url = (text: string): URL => {
  const given = URL.canParse(text) ? new URL(text) : null;
  const isPlain =
    given?.pathname === '/' && given.search === '' && given.username === '' && given.hash === '';
  if (given === null || !isPlain || !/^https?:$/.test(given.protocol))
    throw new InvalidArgumentError('It must be http://HOST:PORT or https://HOST:PORT, and nothing more.');
  return given;
};

export function withWhere(command: Command): Command {
  return withTarget(
    command
      .addOption(
        new Option(
          '--config <file>',
          'ask the replica with this configuration; without it, a demo that runs here',
        )
          .argParser(path)
          .conflicts(['dashboardPort', 'url']),
      )
      .addOption(
        new Option('--url <url>', 'ask the replica whose http is there, such as https://db1:8081')
          .argParser(url)
          .conflicts(['dashboardPort']),
      )
      .addOption(
        new Option(
          '--token-file <file>',
          'with --url: holds the token of its http.tokenFile (or the variable BARISTA_TOKEN has it)',
        )
          .argParser(path)
          .env('BARISTA_TOKEN_FILE'),
      )
      .addOption(
        new Option('--authority <file>', 'with --url: the authority of its certificate, in PEM').argParser(
          path,
        ),
      ),
  );
}
export interface WhereOptions extends TargetOptions {
  readonly config?: string;
  readonly url?: URL;
  readonly tokenFile?: string;
  readonly authority?: string;
}
export function whereOf({ config, url: given, tokenFile, authority, ...target }: WhereOptions): Where {
  if (given !== undefined)
    return { kind: 'url', url: given, tokenFile: tokenFile ?? null, authority: authority ?? null };
  return config === undefined
    ? { kind: 'demo', target: targetOf(target) }
    : { kind: 'replica', configFile: config };
}
