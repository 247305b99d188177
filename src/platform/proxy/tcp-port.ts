// The ports at which an app serves TCP, by the services of its machines. Pure.
import type { MachineConfig } from '../../contract/machine-config.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { ProxyVersion } from './write-proxy-header.ts';

type Service = NonNullable<MachineConfig['services']>[number];

/** `header`: what a connection begins with in the machine; undefined for nothing. */
export interface TcpPort {
  readonly service: Service;
  readonly header: ProxyVersion | undefined;
}

/** An app may open no more. */
export const PORTS_MAX = 64;

/** Those that carry bytes as they are: a port whose handlers would have to speak TLS or HTTP is served by nobody. */
export function listTcpPorts(machines: readonly MachineRow[]): readonly number[] {
  const all = machines.flatMap(({ config }) => config.services ?? []).flatMap((service) => toPorts(service));
  return [...new Set(all.map(({ port }) => port))].sort((one, other) => one - other).slice(0, PORTS_MAX);
}

export function findTcpPort({ config }: MachineRow, port: number): TcpPort | undefined {
  for (const service of config.services ?? []) {
    const found = toPorts(service).find((each) => each.port === port);
    if (found !== undefined) return { service, header: found.header };
  }
  return undefined;
}

/** The machines that serve the port, with the service in place of their `http_service`: a place is found for both in the same way. */
export function toServing(machines: readonly MachineRow[], port: number): readonly MachineRow[] {
  return machines.flatMap((machine) => {
    const service = findTcpPort(machine, port)?.service;
    if (service === undefined) return [];
    const { internal_port, autostart, concurrency = {} } = service;
    const { soft_limit, hard_limit } = concurrency;
    const http_service = {
      internal_port,
      ...(autostart === undefined ? {} : { auto_start_machines: autostart }),
      concurrency: {
        ...(soft_limit === undefined ? {} : { soft_limit }),
        ...(hard_limit === undefined ? {} : { hard_limit }),
      },
    };
    return [{ ...machine, config: { ...machine.config, http_service } }];
  });
}

function toPorts({ protocol = 'tcp', ports = [] }: Service): { port: number; header: ProxyVersion | undefined }[] {
  if (protocol !== 'tcp') return [];
  return ports.flatMap(({ port, handlers = [], proxy_proto_options }) => {
    if (port === undefined || handlers.some((handler) => handler !== 'proxy_proto')) return [];
    return [{ port, header: handlers.length === 0 ? undefined : (proxy_proto_options?.version ?? 'v1') }];
  });
}
