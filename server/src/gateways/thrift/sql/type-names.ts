/** The names of types, by their numbers: PostgreSQL's own are asked for once, those of a database by each session. */
import { types } from 'pg';

const firstOfDatabases = 16_384;
/** Common to all databases of a version. */
const builtin = new Map<number, string>(
  Object.entries(types.builtins).map(([name, oid]) => [oid, name.toLowerCase()]),
);

/** Asks PostgreSQL; pairs of number and name. */
export type AskForTypes = (numbers: readonly number[]) => Promise<readonly (readonly [number, string])[]>;

export class TypeNames {
  private readonly own = new Map<number, string>();
  private readonly ask: AskForTypes;

  constructor(ask: AskForTypes) {
    this.ask = ask;
  }

  /** One that nobody knows is called by its number. */
  async of(numbers: readonly number[]): Promise<readonly string[]> {
    const unknown = [...new Set(numbers)].filter((each) => this.known(each) === undefined);
    if (unknown.length > 0) {
      for (const [number, name] of await this.ask(unknown))
        (number < firstOfDatabases ? builtin : this.own).set(number, name);
    }
    return numbers.map((each) => this.known(each) ?? String(each));
  }

  private known(number: number): string | undefined {
    return number < firstOfDatabases ? builtin.get(number) : this.own.get(number);
  }
}
