/**
 * Where the shipped manifests and the chart put Herald: its pods, and the Lease of its controllers where neither a pod nor an option says
 * otherwise.
 */
export const defaultNamespace = 'herald-system';
