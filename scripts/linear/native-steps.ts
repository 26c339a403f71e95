/**
 * Counts the characters and bytes that functions of the language look at or copy, by taking their places: as many as the answer shows to have been looked at, or all.
 *
 * A regular expression counts what it has gone over to its match, or to the end. For a process that does nothing else.
 */
let steps = 0;
let calls = 0;

export function nativeSteps(): number {
  return steps;
}

/** How many of them were called. A call costs as much as a look at many characters. */
export function nativeCalls(): number {
  return calls;
}

export function countNative(): void {
  countExpressions();
  const all = (text: { readonly length: number }): number => text.length;
  const found = (text: { readonly length: number }, values: readonly unknown[], at: unknown): number => {
    const from = typeof values[1] === 'number' ? values[1] : 0;
    return typeof at === 'number' && at >= 0 ? at - from + 1 : text.length - from;
  };
  count(String.prototype, ['toLowerCase', 'toUpperCase', 'trim', 'replaceAll', 'split', 'includes'], all);
  count(String.prototype, ['indexOf', 'lastIndexOf'], found);
  count(Buffer.prototype, ['indexOf', 'lastIndexOf'], found);
  count(Buffer.prototype, ['includes'], all);
  count(Buffer.prototype, ['fill'], (bytes, values) => {
    const [, from = 0, to = bytes.length] = values as [unknown, number?, number?];
    return to - from;
  });
  count(Buffer.prototype, ['toString'], (bytes, values) => {
    const [, from = 0, to = bytes.length] = values as [unknown, number?, number?];
    return Math.max(0, Math.min(to, bytes.length) - from);
  });
  count(Buffer.prototype, ['copy'], (_, __, copied) => copied as number);
  count(Buffer, ['concat'], (_, __, bytes) => (bytes as Buffer).length);
  count(Buffer, ['from'], (_, __, bytes) => (bytes as Buffer).length);
  count(
    Array.prototype,
    ['includes', 'filter', 'map', 'some', 'every', 'find', 'splice', 'slice', 'join'],
    all,
  );
}

type Method = (this: unknown, ...values: unknown[]) => unknown;

function count(
  owner: object,
  names: readonly string[],
  cost: (self: Buffer, values: readonly unknown[], answer: unknown) => number,
): void {
  for (const name of names) {
    const plain = (owner as Record<string, Method>)[name]!;
    const counting: Method = function (...values) {
      const answer = plain.apply(this, values);
      calls += 1;
      steps += Math.max(1, cost(this as Buffer, values, answer));
      return answer;
    };
    Object.defineProperty(owner, name, { value: counting, configurable: true, writable: true });
  }
}

function countExpressions(): void {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the expression as `this`
  const plain = RegExp.prototype.exec;
  const counting = function (this: RegExp, text: string): RegExpExecArray | null {
    const { lastIndex } = this;
    const found = plain.call(this, text);
    calls += 1;
    if (found !== null) steps += found.index + found[0].length - lastIndex + 1;
    else steps += this.sticky ? 1 : text.length - (this.global ? lastIndex : 0);
    return found;
  };
  const owner: object = RegExp.prototype;
  Object.defineProperty(owner, 'exec', { value: counting, configurable: true, writable: true });
}
