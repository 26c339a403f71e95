/** The type bytes of protocol messages, by the names that PostgreSQL's documentation gives them. */
const code = (letter: string): number => letter.charCodeAt(0);

export const front = {
  bind: code('B'),
  close: code('C'),
  copyData: code('d'),
  copyDone: code('c'),
  copyFail: code('f'),
  describe: code('D'),
  execute: code('E'),
  flush: code('H'),
  functionCall: code('F'),
  parse: code('P'),
  password: code('p'),
  query: code('Q'),
  sync: code('S'),
  terminate: code('X'),
} as const;

export const back = {
  authentication: code('R'),
  backendKeyData: code('K'),
  bindComplete: code('2'),
  closeComplete: code('3'),
  commandComplete: code('C'),
  copyData: code('d'),
  copyDone: code('c'),
  copyInResponse: code('G'),
  copyOutResponse: code('H'),
  copyBothResponse: code('W'),
  dataRow: code('D'),
  emptyQueryResponse: code('I'),
  errorResponse: code('E'),
  negotiateProtocolVersion: code('v'),
  noData: code('n'),
  noticeResponse: code('N'),
  notificationResponse: code('A'),
  parameterDescription: code('t'),
  parameterStatus: code('S'),
  parseComplete: code('1'),
  portalSuspended: code('s'),
  readyForQuery: code('Z'),
  rowDescription: code('T'),
} as const;

/** What ReadyForQuery says: idle, in a transaction, in a failed transaction. */
export type TransactionStatus = 'I' | 'T' | 'E';
