/** Addresses and AS numbers of the benchmark, in a file of their own so that the measured process loads nothing else. */
export const receiverAddress = '10.99.0.1';
export const senderAddress = '10.99.0.2';
export const receiverAsn = 65001;
export const senderAsn = 64512;
