#!/bin/sh
# Process 1 of a node: gives the node its own file systems, and then reaps orphans until it is killed, which ends every process of the node.
#
#   node-init.sh NAME DIRECTORY
#
# Below DIRECTORY, `state` survives a reboot. Everything below /run is lost.
set -eu

name=$1
directory=$2

hostname "$name"
# The network namespaces of the machine would stay in use for as long as the node exists.
umount -R -l /run/netns 2>/dev/null || true
mount -t tmpfs -o mode=755 tmpfs /run
# /sys shows the links of this network namespace only when it is mounted in it. The cgroups below it are the machine's.
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount -R -l /run/cgroup
# containerd binds the network namespaces of pods here, and mounts below a directory that containers share must reach them.
mkdir /run/netns
mount -t tmpfs tmpfs /run/netns
mount --make-rshared /run/netns

own() {
  mkdir -p "$1" "$2"
  mount --bind "$1" "$2"
  mount --make-rshared "$2"
}
# Covers what the machine has there, so that no mount point is made in its own file system.
mount -t tmpfs tmpfs /var/lib
own "$directory/state/kubelet" /var/lib/kubelet
own "$directory/state/containerd" /var/lib/containerd
own "$directory/state/cni" /var/lib/cni
own "$directory/state/log" /var/log
# Each start of the node has its own id, so that the kubelet sees a reboot.
cat /proc/sys/kernel/random/uuid >/run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id

echo ready
# The shell reaps every orphan while it waits for this one.
while :; do
  sleep 86400 &
  wait $!
done
