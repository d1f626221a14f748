/** Programs whose annotations on Services Herald reads when `compat` of HeraldConfig names them; with metallb, its objects too. */
export const compatPrograms = ['metallb', 'cilium', 'kube-vip', 'purelb'] as const;
export type CompatProgram = (typeof compatPrograms)[number];
