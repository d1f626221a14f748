import { createSocket, type Socket } from 'node:dgram';
import process from 'node:process';
import type { Request, StreamOptions } from './stream.ts';

/**
 * Sends a datagram to each address every few milliseconds and records which pod answers. The sockets take turns, so an answer belongs to the
 * latest request of its socket; a later one counts as lost.
 */
const turns = 64;
const kept = 60_000;
const [, , given = '{}'] = process.argv;
const { addresses, port, interval } = JSON.parse(given) as StreamOptions;
const now = (): number => performance.timeOrigin + performance.now();

class Stream {
  readonly requests: Request[] = [];
  readonly #address: string;
  readonly #sockets: { readonly socket: Socket; latest: Request | undefined }[];
  #turn = 0;

  constructor(address: string) {
    this.#address = address;
    this.#sockets = Array.from({ length: turns }, () => {
      const place = { socket: createSocket(address.includes(':') ? 'udp6' : 'udp4'), latest: undefined as Request | undefined };
      place.socket.on('message', (data) => {
        if (place.latest === undefined || place.latest.received !== undefined) return;
        place.latest.received = now();
        place.latest.pod = (JSON.parse(String(data)) as { pod: string }).pod;
      });
      // Errors from ICMP: the request counts as lost.
      place.socket.on('error', () => undefined);
      return place;
    });
  }

  send(): void {
    const place = this.#sockets[this.#turn++ % turns];
    if (place === undefined) return;
    const request: Request = { sent: now() };
    place.latest = request;
    this.requests.push(request);
    if (this.requests.length > kept) this.requests.splice(0, kept / 2);
    place.socket.send('x', port, this.#address, () => undefined);
  }
}

const streams = new Map(addresses.map((address) => [address, new Stream(address)]));
// A timer that is late sends what it owes, so that a request is due every interval.
let due = now();
setInterval(() => {
  for (; due <= now(); due += interval) for (const stream of streams.values()) stream.send();
}, interval);

const methods: Record<string, (...args: never[]) => unknown> = {
  /** Returns the requests to an address that were sent in a span of time. */
  requests: (address: string, from: number, to: number) =>
    streams.get(address)?.requests.filter(({ sent }) => sent >= from && sent < to) ?? [],
  /** Returns when the first answer came, since then, from a pod other than this one. */
  firstFromOther: (address: string, since: number, pod: string) => {
    let first: number | undefined;
    for (const { received, pod: from } of streams.get(address)?.requests ?? [])
      if (received !== undefined && received >= since && from !== pod && received < (first ?? Infinity)) first = received;
    return first;
  },
};

process.on('message', ({ id, method, args }: { id: number; method: string; args: readonly unknown[] }) => {
  process.send?.({ id, value: methods[method]?.(...(args as never[])) });
});
process.on('disconnect', () => process.exit());
