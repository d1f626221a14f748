/** The API group of MetalLB. */
export const metallbGroup = 'metallb.io';
