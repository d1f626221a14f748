/**
 * Returns the rules of kube-proxy 1.36 in iptables mode for one Service, with chains of a kubelet and of Docker, as input of
 * iptables-restore.
 */
export function iptablesModeRules(addresses: { readonly clusterIP: string; readonly balancer: string; readonly length: 32 | 128 }): string {
  const { clusterIP, balancer, length } = addresses;
  const frontend = (address: string, target: string): string =>
    `-A KUBE-SERVICES -d ${address}/${length} -p tcp -m tcp --dport 80 -j ${target}`;
  return `*filter
:KUBE-FIREWALL - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-PROXY-CANARY - [0:0]
-A INPUT -j KUBE-FIREWALL
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
COMMIT
*nat
:DOCKER - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-CDGGSHYLG3RE2FKL - [0:0]
:KUBE-EXT-CDGGSHYLG3RE2FKL - [0:0]
-A PREROUTING -j DOCKER
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODEPORTS -p tcp -m tcp --dport 30080 -j KUBE-EXT-CDGGSHYLG3RE2FKL
-A KUBE-EXT-CDGGSHYLG3RE2FKL -j KUBE-MARK-MASQ
-A KUBE-EXT-CDGGSHYLG3RE2FKL -j KUBE-SVC-CDGGSHYLG3RE2FKL
${frontend(clusterIP, 'KUBE-SVC-CDGGSHYLG3RE2FKL')}
${frontend(balancer, 'KUBE-EXT-CDGGSHYLG3RE2FKL')}
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
COMMIT
`;
}
