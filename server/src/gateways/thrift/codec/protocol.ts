/** The library's binary protocol, strict, as far as it is used here. Its types have enumerations where numbers travel. */
import thrift, { type TTransport } from 'thrift';

export interface Protocol {
  readMessageBegin(): { readonly fname: string; readonly mtype: number; readonly rseqid: number };
  readStructBegin(): unknown;
  readStructEnd(): void;
  readFieldBegin(): { readonly ftype: number; readonly fid: number };
  readFieldEnd(): void;
  readListBegin(): { readonly etype: number; readonly size: number };
  readListEnd(): void;
  readBool(): boolean;
  readDouble(): number;
  readI32(): number;
  readString(): string;
  readBinary(): Buffer;
  skip(type: number): void;
  writeMessageBegin(name: string, type: number, sequence: number): void;
  writeMessageEnd(): void;
  writeFieldBegin(name: string, type: number, id: number): void;
  writeFieldEnd(): void;
  writeFieldStop(): void;
  writeListBegin(type: number, size: number): void;
  writeListEnd(): void;
  writeBool(value: boolean): void;
  writeDouble(value: number): void;
  writeI32(value: number): void;
  writeString(value: string | Buffer): void;
  getTransport(): TTransport;
}

export function protocolOver(transport: TTransport): Protocol {
  return new thrift.TBinaryProtocol(transport, true);
}
