#!/bin/sh
# Runs the agent and what runs beside it once, as the first program of a machine that the build of an image boots: their compiled code is
# then in the image, for the processor that its machines have. A network policy is enforced too: the kernel has what that takes.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
ip link set lo up
run=/run/remora
mkdir -p -m 0755 $run
mkdir -p -m 0700 /var/cache/remora $run/state
echo warm-up > $run/token
export NODE_COMPILE_CACHE=/var/cache/remora REMORA_STATE_DIR=$run/state REMORA_SOCKET=$run/remora.sock REMORA_LOG_LEVEL=warn
export REMORA_USER=sprite REMORA_SPRITE=warm-up REMORA_APP=warm-up REMORA_MACHINE=warm-up
export REMORA_BASE_URL=http://127.0.0.1:9 REMORA_MACHINES_API=http://127.0.0.1:9 REMORA_TOKEN_FILE=$run/token
start() { sed -n 's/^ExecStart=//p' "/etc/systemd/system/$1.service"; }
ask() { curl -sS --max-time 60 --unix-socket $run/remora.sock "$@"; echo; }

# Waits for the socket of a process, but not when it has ended or hangs.
until_there() {
  tries=0
  until [ -S "$1" ] || ! kill -0 "$2" 2> /dev/null || [ $tries -gt 1200 ]; do
    tries=$((tries + 1))
    sleep 0.5
  done
}

$(start remora) &
agent=$!
until_there $run/remora.sock $agent
# It ends by itself when nobody needs it, so it is started last.
$(start remora-supervisor) --socket $run/supervisor.sock --state-dir $run/state --user sprite &
supervisor=$!
until_there $run/supervisor.sock $supervisor
ask http://localhost/v1/status > /dev/null
ask http://localhost/v1/services
ask -X POST 'http://localhost/v1/exec?cmd=true' --output /dev/null
ask 'http://localhost/v1/fs/list?path=/home/sprite' > /dev/null
ask -X POST http://localhost/v1/machine/resumed
ask http://localhost/v1/ports
kill $agent
wait $agent
ended=$?
kill $supervisor 2> /dev/null
wait $supervisor

# It has what its unit gives it: a user of its own, and a cache that nobody else writes.
beside=$run/network/network.sock
install -d -o remora-network -g remora-network -m 0700 ${beside%/*} $run/network-state /var/cache/remora-network
NODE_COMPILE_CACHE=/var/cache/remora-network setpriv --reuid=remora-network --regid=remora-network --clear-groups \
  --inh-caps=+net_admin --ambient-caps=+net_admin \
  $(start remora-network) --socket $beside --state-dir $run/network-state &
network=$!
until_there $beside $network
enforce() {
  curl -sS --max-time 60 --unix-socket $beside --output /dev/null --write-out '%{http_code}' -X PUT -H 'content-type: application/json' \
    -d "{\"rules\":[$1],\"exempt\":{\"names\":[],\"networks\":[]}}" http://localhost/v1/network
}
restricted=$(enforce '{"action":"deny","domain":"*"}')
curl -sS --max-time 5 http://denied.example/ 2> /dev/null
lifted=$(enforce '')
kill $network
wait $network
echo "the agent ended with $ended; a network policy: $restricted $lifted"
[ "$ended $restricted $lifted" = '0 200 200' ] && echo 'remora: warm'
sync
poweroff -ff
