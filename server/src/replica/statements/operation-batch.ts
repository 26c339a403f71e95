/** Several operations in one message: each behind its length. Pure. */
const lengthBytes = 4;

export function encodeBatch(operations: readonly Uint8Array[]): Uint8Array {
  const parts = operations.flatMap((operation) => {
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(operation.length, 0);
    return [length, operation];
  });
  return Buffer.concat(parts);
}

/** Up to what is no whole operation. */
export function decodeBatch(batch: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(batch.buffer, batch.byteOffset, batch.byteLength);
  const operations: Uint8Array[] = [];
  let at = 0;
  while (at + lengthBytes <= bytes.length) {
    const end = at + lengthBytes + bytes.readUInt32BE(at);
    if (end > bytes.length) break;
    operations.push(bytes.subarray(at + lengthBytes, end));
    at = end;
  }
  return operations;
}
