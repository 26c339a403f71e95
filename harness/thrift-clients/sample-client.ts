/**
 * The sample clients of the Thrift API in clients/: what each needs, and how it is built and run.
 *
 * Every sample keeps to one contract, whatever its language. It finds BARISTA_REPLICAS (`host:port`, between commas) and BARISTA_TABLE, of which it makes the table (`n int, note text`) and one named `..._sum` (`total int`). For each
 * n from 1 to 40 it inserts n by a statement of its own, with NULL as the note of even numbers and the two characters \N for odd ones, and raises the total by n in a transaction. In the transaction of 20 it prints the line `half`, whereupon the leader is killed, and waits half a second; then a
 * line of numbers of its own reading; and ends with a line of JSON: `{"steps": 40, "retries": 3, "begun": 41}`, where `begun` counts how often a transaction was.
 */

export interface SampleClient {
  /** Also its folder in clients/. */
  readonly name: string;
  /** Programs that must be on this machine, and what says so. */
  readonly needs: readonly (readonly [program: string, ...args: string[]])[];
  /** What is missing without them, in words for whoever is to install it. */
  readonly how: string;
  /** In a copy of clients/, in its folder, one after another. */
  readonly build: readonly (readonly [program: string, ...args: string[]])[];
  readonly run: readonly [program: string, ...args: string[]];
  /** Runs where the compiler is, in every CI. */
  readonly isAlways: boolean;
}

const compiler = ['thrift', '-version'] as const;

export const sampleClients: readonly SampleClient[] = [
  {
    name: 'javascript',
    needs: [compiler],
    how: 'apt install thrift-compiler',
    build: [['npm', 'run', '--silent', 'build']],
    run: [process.execPath, 'sample.js'],
    isAlways: true,
  },
  {
    name: 'python',
    needs: [compiler, ['python3', '-m', 'venv', '--help']],
    how: 'apt install thrift-compiler python3-venv',
    build: [['./build.sh']],
    run: ['venv/bin/python', 'sample.py'],
    isAlways: true,
  },
  {
    name: 'go',
    needs: [compiler, ['go', 'version']],
    how: 'apt install thrift-compiler golang',
    build: [['./build.sh']],
    run: ['gen/sample'],
    isAlways: true,
  },
  {
    name: 'java',
    needs: [compiler, ['javac', '-version'], ['mvn', '-version']],
    how: 'apt install thrift-compiler default-jdk-headless maven',
    build: [['./build.sh']],
    run: ['java', '-cp', 'gen/target/classes:gen/lib/*', 'barista.sample.Sample'],
    isAlways: true,
  },
  {
    name: 'cpp',
    needs: [
      compiler,
      ['make', '-v'],
      ['g++', '-fsyntax-only', '-include', 'thrift/transport/TSSLSocket.h', '-x', 'c++', '/dev/null'],
    ],
    how: 'apt install make g++ thrift-compiler libthrift-dev libboost-dev libssl-dev',
    build: [['make']],
    run: ['gen/sample'],
    isAlways: true,
  },
];
