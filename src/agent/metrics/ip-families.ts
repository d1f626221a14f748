/** As kube-proxy labels them. One pass of ours programs both. */
export const ipFamilies = ['IPv4', 'IPv6'] as const;
