export const metallbGroup = 'metallb.io';
