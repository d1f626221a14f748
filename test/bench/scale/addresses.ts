/** Addresses and names of the bench, inside network namespaces that it makes. */
export const network = '172.30.0.0/16';
export const apiServerAddress = '172.30.0.1';
export const routerAddress = '172.30.0.2';
export const recordedAddress = '172.30.0.3';
export const controllerAddress = (index: number): string => `172.30.0.${10 + index}`;
export const nodeAddress = (index: number): string => `172.30.${16 + (index >> 8)}.${index & 255}`;
export const kubeProxyNode = 0;

export const heraldAsn = 64_512;
export const routerAsn = 65_100;

/** Endpoints that a change brings in have addresses that nothing else has (RFC 2544), so that they are found in the kernel's events. */
export const churnedAddress = (sequence: number): string => `198.${18 + ((sequence >> 16) & 1)}.${(sequence >> 8) & 255}.${sequence & 255}`;

/** The number of `churnedAddress`, from the address's last three octets. */
export const churnedSequence = (second: number, third: number, fourth: number): number => ((second - 18) << 16) | (third << 8) | fourth;

export const nodeName = (index: number): string => `node-${index}`;
export const podName = (index: number): string => `herald-agent-${index}`;

/** Milliseconds since 1970 with a fraction, comparable between the processes of one machine. */
export const timeNow = (): number => performance.timeOrigin + performance.now();
