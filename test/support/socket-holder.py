# What systemd does for a socket unit: holds a listening Unix socket and starts the daemon with it as descriptor 3.
# Arguments: path, backlog, then the command. Each line on stdin starts the command once: "right", "wrong" or "unset" says
# what LISTEN_PID is. Prints "bound", then "started <pid>" and "ended <status>".
import os
import socket
import sys

path, backlog, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(backlog)
print("bound", flush=True)
for line in iter(sys.stdin.readline, ""):
    pid = os.fork()
    if pid == 0:
        env = dict(os.environ, LISTEN_FDS="1", LISTEN_FDNAMES="remora.socket")
        meant = {"right": os.getpid(), "wrong": os.getpid() + 1}.get(line.strip())
        if meant is not None:
            env["LISTEN_PID"] = str(meant)
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.execve(command[0], command, env)
    print(f"started {pid}", flush=True)
    print(f"ended {os.waitpid(pid, 0)[1]}", flush=True)
