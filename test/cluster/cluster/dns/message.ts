/** The part of RFC 1035 that a cluster's DNS needs: one question, and answers of type A, AAAA, CNAME, PTR and SRV. */

export const recordTypes = { a: 1, cname: 5, ptr: 12, aaaa: 28, srv: 33 } as const;

export const responseCodes = { noError: 0, serverFailure: 2, noSuchName: 3 } as const;

export interface Question {
  readonly name: string;
  readonly type: number;
}

export interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly data: Buffer;
}

/** In seconds. Short, because tests change Services. */
const timeToLive = 5;

const headerLength = 12;

/** Reads the question of a query. Throws RangeError when the message is too short. */
export function questionOf(query: Buffer): Question & { readonly end: number } {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = query.readUInt8(at); length !== 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Returns the authoritative answer to a query (RFC 1035 4.1). */
export function encodeAnswer(query: Buffer, code: number, records: readonly DnsRecord[]): Buffer {
  const header = Buffer.alloc(headerLength);
  query.copy(header, 0, 0, 2);
  // A response, authoritative, recursion desired and available.
  header.writeUInt16BE(0x8580 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(headerLength, questionOf(query).end), ...records.map(encodeRecord)]);
}

/** "web.default" as labels with their lengths. */
export function encodeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, 'ascii')])), Buffer.of(0)]);
}

/** The data of a record of type SRV (RFC 2782). All targets are alike. */
export function encodeService(port: number, target: string): Buffer {
  const fixed = Buffer.alloc(6);
  fixed.writeUInt16BE(port, 4);
  return Buffer.concat([fixed, encodeName(target)]);
}

function encodeRecord({ name, type, data }: DnsRecord): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(timeToLive, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fixed, data]);
}
