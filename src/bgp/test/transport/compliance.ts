import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { formatAddress, type Address } from '../../../../src/net/address.ts';
import type { Connection, Listener, Transport } from '../../../../src/bgp/transport/transport.ts';
import { ConnectionRecorder, ListenerRecorder, type Accepted } from './recorder.ts';

/** Two hosts, or one that connects to itself, with functions that pass time. */
export interface TransportSetup {
  readonly dialer: Transport;
  readonly dialerAddress: Address;
  readonly listener: Transport;
  readonly listenerAddress: Address;
  /** Passes time until the condition holds; throws with the name of the condition after some seconds. */
  readonly until: (what: string, holds: () => boolean) => Promise<void>;
  /** Passes time until all pending events have happened. */
  readonly settle: () => Promise<void>;
}

/** Runs the tests that every transport must pass, over IPv4 or IPv6. */
export function describeTransport(makeSetup: () => TransportSetup): void {
  describe('a compliant transport', () => {
    let setup: TransportSetup;
    let listening: ListenerRecorder;
    let listener: Listener;
    let dialed: Connection[];

    const dial = (port: number, sourceAddress?: Address): ConnectionRecorder & { readonly connection: Connection } => {
      const recorder = new ConnectionRecorder();
      const options = { address: setup.listenerAddress, port, ttl: 255, ...defined({ sourceAddress }) };
      const connection = setup.dialer.dial(options, recorder);
      dialed.push(connection);
      return Object.assign(recorder, { connection });
    };
    const listen = async (): Promise<number> => {
      listener = setup.listener.listen({ address: setup.listenerAddress, port: 0 }, listening);
      await setup.until('it listens', () => listening.port !== undefined);
      return listening.port ?? 0;
    };
    /** Opens a connection and returns both of its ends. */
    const connect = async (): Promise<[dialed: ConnectionRecorder & { readonly connection: Connection }, accepted: Accepted]> => {
      const ours = dial(await listen());
      await setup.until('both are connected', () => ours.isConnected && listening.accepted[0]?.recorder.isConnected === true);
      return [ours, listening.accepted[0] as Accepted];
    };

    beforeEach(() => {
      setup = makeSetup();
      listening = new ListenerRecorder();
      listener = { setKeys: () => new Map(), close: () => {} };
      dialed = [];
    });
    afterEach(async () => {
      listener.close();
      for (const connection of dialed) connection.destroy();
      for (const { connection } of listening.accepted) connection.destroy();
      await setup.settle();
    });

    test('both ends learn their own address, and the listener the remote one', async () => {
      const [ours, theirs] = await connect();
      expect(ours.events).toEqual([`connected ${formatAddress(setup.dialerAddress)}`]);
      expect(theirs.recorder.events).toEqual([`connected ${formatAddress(setup.listenerAddress)}`]);
      expect(theirs.incoming.remoteAddress).toEqual(setup.dialerAddress);
      expect(theirs.incoming.interface).toBeUndefined();
    });

    test('a dial uses the source address', async () => {
      dial(await listen(), setup.dialerAddress);
      await setup.until('it is accepted', () => listening.accepted.length === 1);
      expect(listening.accepted[0]?.incoming.remoteAddress).toEqual(setup.dialerAddress);
    });

    test('no callback runs before dial and listen have returned', async () => {
      const events: string[] = [];
      let returned = false;
      const note = (what: string) => (): void => void events.push(`${what} ${returned ? 'after' : 'before'}`);
      listener = setup.listener.listen(
        { address: setup.listenerAddress, port: 0 },
        { listening: note('listening'), connection: (incoming) => incoming.reject(), failed: note('failed') },
      );
      const closed = note('closed');
      const connection = setup.dialer.dial(
        { address: setup.listenerAddress, port: 9, ttl: 255 },
        { connected: note('connected'), data: () => {}, drain: () => {}, closed },
      );
      dialed.push(connection);
      returned = true;
      await setup.until('both were answered', () => events.length === 2);
      expect(events.toSorted()).toEqual(['closed after', 'listening after']);
    });

    test('a connection carries octets both ways, in order', async () => {
      const [ours, theirs] = await connect();
      for (const word of ['one ', 'two ', 'three']) ours.connection.write(Buffer.from(word));
      theirs.connection.write(Buffer.from('four'));
      await setup.until('all has arrived', () => theirs.recorder.received.length === 13 && ours.received.length === 4);
      expect(theirs.recorder.received.toString()).toBe('one two three');
      expect(ours.received.toString()).toBe('four');
    });

    test('octets sent before the connection was accepted are not lost', async () => {
      const ours = dial(await listen());
      await setup.until('it is connected', () => ours.isConnected);
      ours.connection.write(Buffer.from('early'));
      ours.connection.end();
      await setup.until('it has arrived', () => listening.accepted[0]?.recorder.isClosed === true);
      expect(listening.accepted[0]?.recorder.received.toString()).toBe('early');
      expect(listening.accepted[0]?.recorder.events.map((event) => event.split(' ')[0])).toEqual(['connected', 'data', 'closed']);
    });

    test('BGP-049 after end() written data still arrives, and data comes back until the peer ends', async () => {
      const [ours, theirs] = await connect();
      ours.connection.write(Buffer.from('last words'));
      ours.connection.end();
      theirs.connection.write(Buffer.from('an answer'));
      await setup.until('both are closed', () => ours.isClosed && theirs.recorder.isClosed);
      expect(theirs.recorder.received.toString()).toBe('last words');
      expect(ours.received.toString()).toBe('an answer');
      expect([ours.failure, theirs.recorder.failure]).toEqual([undefined, undefined]);
    });

    test('BGP-047 an orderly close by the peer is reported at once and without failure', async () => {
      const [ours, theirs] = await connect();
      theirs.connection.destroy();
      await setup.until('it is seen', () => ours.isClosed);
      expect(ours.failure).toBeUndefined();
    });

    test('destroy closes and reports once, and may be repeated', async () => {
      const [ours, theirs] = await connect();
      ours.connection.destroy();
      ours.connection.destroy();
      await setup.until('both are closed', () => ours.isClosed && theirs.recorder.isClosed);
      ours.connection.destroy();
      ours.connection.end();
      expect(ours.connection.write(Buffer.from('too late'))).toBe(true);
      await setup.settle();
      expect(ours.events.filter((event) => event.startsWith('closed'))).toEqual(['closed']);
      expect(theirs.recorder.events.filter((event) => event.startsWith('closed'))).toHaveLength(1);
    });

    test('a connection destroyed before it is established reports closed and never connected', async () => {
      const port = await listen();
      const ours = dial(port);
      ours.connection.destroy();
      await setup.until('it is closed', () => ours.isClosed);
      await setup.settle();
      expect(ours.events).toEqual(['closed']);
    });

    test('a dial to a port without listener fails as refused', async () => {
      const port = await listen();
      listener.close();
      await setup.settle();
      const ours = dial(port);
      await setup.until('it is refused', () => ours.isClosed);
      expect(ours.events).toEqual(['closed: refused']);
    });

    test('BGP-056 a rejected connection ends at once', async () => {
      listening.socketOptions = undefined;
      const ours = dial(await listen());
      await setup.until('it is closed', () => ours.isClosed);
      expect(listening.rejected).toHaveLength(1);
      expect(ours.received).toHaveLength(0);
    });

    test('closing the listener leaves accepted connections open, and may be repeated', async () => {
      const [ours, theirs] = await connect();
      listener.close();
      listener.close();
      await setup.settle();
      ours.connection.write(Buffer.from('still here'));
      await setup.until('it arrives', () => theirs.recorder.received.length > 0);
      expect(theirs.recorder.received.toString()).toBe('still here');
    });

    test('a second listener on a port fails with a message that names the port', async () => {
      const port = await listen();
      const second = new ListenerRecorder();
      setup.listener.listen({ address: setup.listenerAddress, port }, second);
      await setup.until('it fails', () => second.failure !== undefined);
      expect(second.failure?.detail).toContain(`another program listens on port ${port}`);
      expect(second.port).toBeUndefined();
      const ours = dial(port);
      await setup.until('the first still works', () => ours.isConnected);
    });

    test('write() returns false when its buffer is full, and drain follows', async () => {
      const [ours, theirs] = await connect();
      const block = new Uint8Array(65_536).fill(7);
      let written = 0;
      while (ours.connection.write(block) && written < 1_000) written++;
      expect(written).toBeLessThan(1_000);
      await setup.until('it may go on', () => ours.events.includes('drain'));
      await setup.until('all has arrived', () => theirs.recorder.received.length === (written + 1) * block.length);
    });
  });
}
