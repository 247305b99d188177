#!/bin/sh
# Runs the agent and the supervisor once, as the first program of a machine that the build of an image boots: their compiled code is
# then in the image, for the processor that its machines have.
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

$(start remora-supervisor) --socket $run/supervisor.sock --state-dir $run/state --user sprite &
supervisor=$!
$(start remora) &
agent=$!
tries=0
until [ -S $run/remora.sock ] && [ -S $run/supervisor.sock ]; do
  tries=$((tries + 1))
  [ $tries -gt 1200 ] && break
  sleep 0.5
done
ask http://localhost/v1/status > /dev/null
ask http://localhost/v1/services
ask -X POST 'http://localhost/v1/exec?cmd=true' --output /dev/null
ask 'http://localhost/v1/fs/list?path=/home/sprite' > /dev/null
ask -X POST http://localhost/v1/machine/resumed
ask http://localhost/v1/ports
kill $agent $supervisor
wait $agent && wait $supervisor && echo 'remora: warm'
sync
poweroff -ff
