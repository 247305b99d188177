// Answers the pings of the other side of a WebSocket whose own answers are off (`autoPong`): those would wait without a limit for
// a peer that sends pings and reads nothing.
import type { WebSocket } from 'ws';

/** `ahead_bytes`: with more than this waiting for the other side, its pings are not answered; what waits shows that this side is there. */
export function answerPings(socket: WebSocket, ahead_bytes: number): void {
  socket.on('ping', (data) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount <= ahead_bytes) socket.pong(data);
  });
}
