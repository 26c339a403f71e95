/** Numbers of Thrift's binary protocol. Pure. */
export const wireType = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  i16: 6,
  i32: 8,
  i64: 10,
  string: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
} as const;

export const messageType = { call: 1, reply: 2, exception: 3 } as const;
