#!/bin/busybox sh
# The first program of a machine, in its initial ramdisk: modules, network and volumes, then systemd on the root disk. What it reads of
# the kernel's command line: remora.net=ADDRESS/PREFIX,GATEWAY (or none), remora.net6=ADDRESS,GATEWAY,NETWORK, remora.dns=ADDRESS,...,
# remora.volume=SERIAL,/PATH (repeated).
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
$b mount -t tmpfs -o mode=0755,nosuid,nodev run /run
for module in /modules/*; do $b insmod "$module"; done

net=10.77.0.2/24,10.77.0.1
net6=
dns=
read -r line < /proc/cmdline
for word in $line; do
  case $word in
    remora.net=*) net=${word#*=} ;;
    remora.net6=*) net6=${word#*=} ;;
    remora.dns=*) dns=${word#*=} ;;
  esac
done

tries=0
while [ ! -b /dev/vda ]; do
  tries=$((tries + 1))
  if [ $tries -gt 500 ]; then echo 'remora: no root disk'; $b poweroff -f; fi
  $b sleep 0.02
done
if ! $b mount -t ext4 /dev/vda /root; then echo 'remora: the root disk is no ext4'; $b poweroff -f; fi

if [ "$net" != none ]; then
  $b ip addr add "${net%,*}" dev eth0
  $b ip link set eth0 up
  $b ip route add default via "${net#*,}"
  if [ -n "$net6" ]; then
    network=${net6##*,}
    gateway=${net6#*,}
    $b ip -6 addr add "${net6%%,*}/128" dev eth0
    $b ip -6 route add "$network" via "${gateway%,*}" dev eth0
  fi
fi
: > /run/remora-resolv.conf
for address in $($b echo "$dns" | $b tr , ' '); do echo "nameserver $address" >> /run/remora-resolv.conf; done

for word in $line; do
  case $word in
    remora.volume=*)
      volume=${word#*=}
      found=
      for serial in /sys/block/vd*/serial; do
        [ "$($b cat "$serial")" = "${volume%%,*}" ] || continue
        disk=${serial%/serial}
        $b mkdir -p "/root${volume#*,}"
        $b mount -t ext4 "/dev/${disk##*/}" "/root${volume#*,}" && found=yes
      done
      # A machine without one of its volumes would write to the wrong place.
      if [ -z "$found" ]; then echo "remora: no volume ${volume%%,*}"; $b poweroff -f; fi
      ;;
  esac
done

for dir in proc sys dev run; do $b mount --move /$dir /root/$dir; done
for word in $line; do
  case $word in
    init=*) exec $b switch_root /root "${word#*=}" ;;
  esac
done
exec $b switch_root /root /sbin/init
