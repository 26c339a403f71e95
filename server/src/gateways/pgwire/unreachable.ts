/** Closes a switch over a union: a new member is a compile error here. */
export const unreachable = (value: never): never => {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
};
