/** Addresses and AS numbers of the benchmark, in a file of their own so that the measured process loads nothing else. */
export const receiverAddress = '10.99.0.1';
export const senderAddress = '10.99.0.2';
/** The network in which the many peers of one sender live, and the address of the sender in it. */
export const manyPeersNetwork = '10.98.0.0/16';
export const manyPeersSender = '10.98.255.2';

/** Returns the address of the n-th of many peers. */
export const manyPeersAddress = (n: number): string => `10.98.${1 + (n >> 8)}.${n & 255}`;

export const receiverAsn = 65001;
export const senderAsn = 64512;
