// The files that make a Debian a machine's: names, units and links.

/** What no machine needs: it has no hardware to look for, nobody who logs in at a console, and packages only where somebody asks. */
export const maskedUnits = [
  ...['systemd-udevd.service', 'systemd-udev-trigger.service', 'systemd-udev-settle.service'],
  ...['systemd-udevd-control.socket', 'systemd-udevd-kernel.socket', 'systemd-hwdb-update.service'],
  ...['getty@tty1.service', 'serial-getty@ttyS0.service', 'systemd-logind.service', 'systemd-user-sessions.service'],
  ...[
    'apt-daily.timer',
    'apt-daily-upgrade.timer',
    'dpkg-db-backup.timer',
    'e2scrub_all.timer',
    'e2scrub_reap.service',
  ],
  ...['fstrim.timer', 'systemd-update-utmp.service', 'systemd-update-utmp-runlevel.service', 'systemd-pstore.service'],
  ...['sys-kernel-debug.mount', 'sys-kernel-tracing.mount', 'dev-hugepages.mount', 'sys-kernel-config.mount'],
  ...['systemd-modules-load.service', 'modprobe@.service', 'kmod-static-nodes.service', 'systemd-sysusers.service'],
  ...['systemd-binfmt.service', 'proc-sys-fs-binfmt_misc.automount', 'systemd-timesyncd.service'],
  ...['systemd-networkd.service', 'systemd-networkd-wait-online.service', 'systemd-remount-fs.service'],
  ...['systemd-machine-id-commit.service', 'systemd-firstboot.service', 'systemd-journal-flush.service'],
];

export const enabledUnits = [
  ...['remora.socket', 'remora-supervisor.socket', 'remora.service', 'remora-reseed.path'],
  ...['remora-network.socket', 'remora-network.path', 'remora-host.service'],
];

/** An emulated processor takes its time to start a process. */
const SLOW_UNIT = `[Service]
TimeoutStartSec=10min
`;
/** The variables of a machine come as a credential. */
const MACHINE_UNIT = `${SLOW_UNIT}EnvironmentFile=-/run/credentials/@system/remora-env
`;

/** Does what `systemctl poweroff` does, which asks logind first; the image has none. */
const POWER_OFF = 'systemctl --no-block --job-mode=replace-irreversibly start poweroff.target';

/**
 * The other end of `drivers/qemu/guest/host-port.ts`. Without a reader on the host the port gives nothing, and is read again later; the
 * pause is a read that nobody answers, because a program for it would cost an emulated processor a hundred times as much.
 */
const HOST_LOOP = [
  'until set -- /dev/vport*p1; [ -c "$$1" ]; do sleep 1; done',
  'exec 3<>"$$1" 4<> <(:)',
  `while :; do if read -r word id <&3; then case $$word in sync) sync; echo "synced $$id" >&3;; poweroff) ${POWER_OFF};; esac`,
  'else read -r -t 0.5 <&4; fi; done',
].join('; ');

const HOST_UNIT = `[Unit]
Description=What the host asks of this machine: write everything to the disk, or power off

[Service]
ExecStartPre=-/sbin/modprobe -q virtio_console
ExecStart=/bin/bash -c '${HOST_LOOP}'
Restart=on-failure
RestartSec=1s

[Install]
WantedBy=multi-user.target
`;

/** The console is all that is left of a machine that does not come up. Warnings reach it, and what the agent says. */
const JOURNAL = `[Journal]
Storage=volatile
RuntimeMaxUse=16M
ForwardToConsole=yes
MaxLevelConsole=warning
`;

/** The text of each file, by its path. */
export const guestFiles: Readonly<Record<string, string>> = {
  'etc/hostname': 'sprite\n',
  'etc/hosts': '127.0.0.1 localhost sprite\n::1 localhost\n',
  /** Empty: each machine gets one of its own at its boot, which is not taken for its first. */
  'etc/machine-id': '',
  'etc/fstab': '',
  'etc/remora/agent.env': 'REMORA_USER=sprite\n',
  'etc/systemd/system/remora-host.service': HOST_UNIT,
  'etc/systemd/system/remora.service.d/machine.conf': `${MACHINE_UNIT}StandardOutput=journal+console\n`,
  'etc/systemd/system/remora-supervisor.service.d/machine.conf': MACHINE_UNIT,
  'etc/systemd/system/remora-network.service.d/machine.conf': SLOW_UNIT,
  'etc/systemd/journald.conf.d/machine.conf': JOURNAL,
};

/** Kept by no machine: what the packages' own installation left, and what tells one build from the next. */
export const strippedPaths = [
  ...['usr/share/doc', 'usr/share/locale', 'usr/share/man', 'usr/share/info', 'usr/share/lintian'],
  ...[
    'var/lib/apt/lists',
    'var/cache/apt',
    'var/cache/debconf',
    'var/cache/ldconfig',
    'var/log',
    'var/lib/systemd/catalog',
  ],
  ...[
    'etc/passwd-',
    'etc/group-',
    'etc/shadow-',
    'etc/gshadow-',
    'etc/subuid-',
    'etc/subgid-',
    'var/lib/systemd/random-seed',
    'var/lib/dbus/machine-id',
  ],
  ...[
    'etc/resolv.conf',
    'run',
    'tmp',
    'root/.bash_history',
    'etc/.pwd.lock',
    'var/lib/dpkg/lock',
    'var/lib/dpkg/lock-frontend',
  ],
];
