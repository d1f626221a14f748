export const heraldAsn = 64_512;
export const routerAsn = 65_101;
export const nodeAddress = (family: number): string => (family === 4 ? '192.0.2.1' : 'fd98::1');
export const routerAddress = (family: number): string => (family === 4 ? '192.0.2.2' : 'fd98::2');
