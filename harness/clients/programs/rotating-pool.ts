/** What is missing in node-postgres: a pool that takes several hosts, as libpq does. Each new connection goes to the next one, and on to others where one refuses. */
import pg from 'pg';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** PGHOST and PGPORT as libpq reads them: lists with commas, of the same length. */
export function placesOf(env: NodeJS.ProcessEnv): readonly Place[] {
  const ports = (env['PGPORT'] ?? '').split(',');
  return (env['PGHOST'] ?? '').split(',').map((host, index) => ({ host, port: Number(ports[index]) }));
}

/** Whoever gets an error from `connect` or a query tries again, and is at another replica then. */
export function rotatingPool(places: readonly Place[], max: number): pg.Pool {
  let next = 0;
  class RotatingClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...places[next++ % places.length] });
    }
  }
  const pool = new pg.Pool({ Client: RotatingClient, max, connectionTimeoutMillis: 10_000 });
  // An idle connection whose leader goes away says so; the pool takes it out by itself.
  pool.on('error', () => {});
  return pool;
}
