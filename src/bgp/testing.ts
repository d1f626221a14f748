/**
 * Tools to test a program that uses the speaker, without a network and without waiting: a clock that moves only on command, repeatable
 * random numbers, and networks inside the process.
 */
export { VirtualClock } from '../system/virtual-clock.ts';
export { seededRandom } from '../system/random.ts';
export { MemoryHost, MemoryNetwork } from './transport/memory-network.ts';
export { MemoryTransport, type Answer, type RemoteEnd } from './transport/memory-transport.ts';
export { address } from '../net/address.ts';
export { prefix } from '../net/prefix.ts';
