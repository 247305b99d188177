// The operations on processes, over the sessions of this sprite.
import type { Handlers } from '../../http/handler.ts';
import type { SupervisorCaller } from '../supervisor-caller.ts';
import { acceptConnection, type Connection, checkHandshake } from './connection.ts';
import { ControlConnection } from './control-connection.ts';
import { finishConnection } from './finish-connection.ts';
import { killSession, readKill } from './kill-session.ts';
import { readQueryCommand } from './read-command.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { SupervisedProcessOperations } from './supervised-operations.ts';
import { Viewer } from './viewer.ts';

export function createProcessHandlers(sessions: Sessions): Handlers<SupervisedProcessOperations, SupervisorCaller> {
  return {
    async exec({ request, upgrade }) {
      const handshake = checkHandshake(request, upgrade);
      const command = readQueryCommand(request.url ?? '');
      await sessions.untilReady();
      sessions.checkRoom();
      acceptConnection(request, handshake, (connection) => {
        const session = sessions.open(command);
        const isKept = command.isDetachable || command.terminal !== undefined;
        if (isKept) connection.send(JSON.stringify(session.toInfo(true)));
        session.attach(toViewer(session, connection));
      });
    },
    attachProcess({ request, upgrade, params }) {
      const handshake = checkHandshake(request, upgrade);
      const session = sessions.find(params.id);
      acceptConnection(request, handshake, (connection) => {
        connection.send(JSON.stringify(session.toInfo(false)));
        session.attach(toViewer(session, connection));
      });
    },
    control({ request, upgrade }) {
      const handshake = checkHandshake(request, upgrade);
      acceptConnection(request, handshake, (connection) => new ControlConnection(connection, sessions).listen());
    },
    listProcesses: () => ({ sessions: sessions.list().map((session) => session.describe()) }),
    listRunningSessions: () => ({ sessions: sessions.list().map((session) => session.toRunning()) }),
    async killProcess({ params, query }, sink) {
      const kill = readKill(query);
      for await (const event of killSession(sessions.find(params.id), kill)) sink.send(event);
      sink.end();
    },
  };
}

function toViewer({ isTerminal }: Session, connection: Connection): Viewer {
  return new Viewer({
    connection,
    isTerminal,
    isSteeredByBytes: false,
    finish: (exit_code) => finishConnection(connection, isTerminal, exit_code),
  });
}
