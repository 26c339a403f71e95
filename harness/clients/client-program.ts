/**
 * What a client program is: software that others wrote, used as its own manual has it, in a short program of ours that does what applications do.
 *
 * Every program keeps to one contract, whatever its language. It finds PGHOST and PGPORT as lists with commas (one entry for each replica), PGUSER, PGPASSWORD, and PGDATABASE, which is its own and
 * empty. It
 * - migrates twice, by the tool that belongs to it: `account (id int, balance int)` and `transfer (id text, debit int, credit int, amount int)`; then a column `note text` of `transfer`;
 * - fills ten accounts with 100 each;
 * - makes 100 transfers, named `0` to `99`, by four workers at once, each in one transaction, and repeats what fails until it is done;
 * - prints the line `half` once, when half of them are done, whereupon the leader is changed;
 * - ends with a line of JSON: `{"transfers": 100, "retries": 3}`.
 */

export interface ClientProgram {
  /** Also its folder in programs/. */
  readonly name: string;
  /** For people: which software it is of. */
  readonly of: string;
  /** Programs that must be on this machine. */
  readonly needs: readonly string[];
  /** In a copy of its folder, one after another. Empty: what it needs is this repository's own. */
  readonly install: readonly (readonly [program: string, ...args: string[]])[];
  /** In that copy; of one that needs no install, in its folder. */
  readonly run: readonly [program: string, ...args: string[]];
}

const python = 'venv/bin/python';

function pip(...packages: readonly string[]): ClientProgram['install'] {
  return [
    ['python3', '-m', 'venv', 'venv'],
    [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages],
  ];
}

/** A program in TypeScript, of packages that this repository has: these run in `npm test`. */
function own(name: string, of: string): ClientProgram {
  return { name, of, needs: [], install: [], run: [process.execPath, '--import', 'tsx', 'main.ts'] };
}

const driver = 'psycopg[binary]>=3.2,<4';

export const clientPrograms: readonly ClientProgram[] = [
  own('node-postgres', 'node-postgres'),
  own('drizzle', 'Drizzle with its migrations'),
  own('graphile-worker', 'Graphile Worker: jobs by SKIP LOCKED, wakened by NOTIFY'),
  {
    name: 'psycopg',
    of: 'psycopg 3',
    needs: ['python3'],
    install: pip(driver),
    run: [python, 'main.py'],
  },
  {
    name: 'sqlalchemy',
    of: 'SQLAlchemy with Alembic',
    needs: ['python3'],
    install: pip(driver, 'sqlalchemy>=2,<3', 'alembic>=1.13,<2'),
    run: [python, 'main.py'],
  },
  {
    name: 'django',
    of: 'Django with its migrations',
    needs: ['python3'],
    install: pip(driver, 'django>=5,<6'),
    run: [python, 'main.py'],
  },
  {
    name: 'hibernate',
    of: 'Hibernate with Flyway, over pgjdbc',
    needs: ['mvn', 'java'],
    install: [['mvn', '-B', '-q', 'compile']],
    run: ['mvn', '-B', '-q', 'exec:java'],
  },
  {
    name: 'pgx',
    of: 'pgx',
    needs: ['go'],
    install: [
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-o', 'client', '.'],
    ],
    run: ['./client'],
  },
  {
    name: 'postgraphile',
    of: 'PostGraphile, a server that makes an API of a schema',
    needs: ['npm'],
    install: [['npm', 'install', '--silent', '--no-audit', '--no-fund']],
    run: [process.execPath, 'main.mjs'],
  },
];
