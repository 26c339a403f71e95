/** The type bytes of protocol messages, by the names that PostgreSQL's documentation gives them. Pure. */
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
  /** Whatever a client says when it is asked to prove itself. */
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
  copyInResponse: code('G'),
  copyOutResponse: code('H'),
  dataRow: code('D'),
  emptyQueryResponse: code('I'),
  errorResponse: code('E'),
  functionCallResponse: code('V'),
  noData: code('n'),
  noticeResponse: code('N'),
  notificationResponse: code('A'),
  parameterStatus: code('S'),
  parseComplete: code('1'),
  portalSuspended: code('s'),
  readyForQuery: code('Z'),
  rowDescription: code('T'),
} as const;

/** What ReadyForQuery says: idle, in a transaction block, in a failed one. */
export type TransactionStatus = 'I' | 'T' | 'E';

function code(letter: string): number {
  return letter.charCodeAt(0);
}

/** Whether PostgreSQL may send a message of this type at any time, whatever it is answering. */
export function comesAnyTime(type: number): boolean {
  return type === back.noticeResponse || type === back.notificationResponse || type === back.parameterStatus;
}
