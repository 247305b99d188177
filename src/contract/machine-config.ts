// The configuration of a machine: what it boots from, its size, what runs in it, its volumes and services. Shapes that Suspend and
// Replication does not show are those of the Fly Machines API.
import * as z from './lazy-zod.ts';

/** Bounds of a configuration: each list, text and number of a client has one. */
export const ENV_CAP_BYTES = 128 * 1024;
export const MOUNTS_MAX = 8;
export const METADATA_MAX = 64;
const SERVICES_MAX = 16;
const WORDS_MAX = 64;

type MakeObject = <T extends z.core.$ZodLooseShape>(shape: T) => z.ZodObject<T>;

const lenient: MakeObject = (shape) => z.object(shape);
/** Its type is that of a lenient one: what comes out of both is the same. */
const strict: MakeObject = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject(shape) as unknown as z.ZodObject<T>;

const port = z.int().min(1).max(65_535);
const word = z.string().max(256);
const words = z.array(z.string().max(4_096)).max(WORDS_MAX);
const duration = z.union([z.int().min(0).max(300), z.string().max(16)]);

/** Suspend and Replication, Automatic suspend configuration. */
function toHttpService(object: MakeObject) {
  return object({
    internal_port: port.optional(),
    force_https: z.boolean().optional(),
    auto_stop_machines: z.enum(['suspend', 'stop', 'off']).optional(),
    auto_start_machines: z.boolean().optional(),
    min_machines_running: z.int().min(0).max(1_000).optional(),
    concurrency: object({
      type: z.literal('requests').optional(),
      soft_limit: z.int().positive().optional(),
      hard_limit: z.int().positive().optional(),
    }).optional(),
  });
}

function toService(object: MakeObject) {
  return object({
    protocol: z.enum(['tcp', 'udp']).optional(),
    internal_port: port,
    autostart: z.boolean().optional(),
    autostop: z.union([z.boolean(), z.enum(['off', 'stop', 'suspend'])]).optional(),
    min_machines_running: z.int().min(0).max(1_000).optional(),
    ports: z
      .array(
        object({
          port: port.optional(),
          start_port: port.optional(),
          end_port: port.optional(),
          handlers: z.array(z.string().max(32)).max(8).optional(),
          force_https: z.boolean().optional(),
          proxy_proto_options: object({ version: z.enum(['v1', 'v2']).optional() }).optional(),
        }),
      )
      .max(SERVICES_MAX)
      .optional(),
    concurrency: object({
      type: z.enum(['requests', 'connections']).optional(),
      soft_limit: z.int().positive().optional(),
      hard_limit: z.int().positive().optional(),
    }).optional(),
  });
}

/** `on-fail` is read as `on-failure`. */
const restartPolicy = z
  .enum(['always', 'on-failure', 'no', 'on-fail'])
  .transform((policy) => (policy === 'on-fail' ? 'on-failure' : policy))
  .pipe(z.enum(['always', 'on-failure', 'no']));
export type RestartPolicy = z.infer<typeof restartPolicy>;

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'expected letters, digits and underscores');

/** The name of a value that is kept with a machine. */
export const metadataKey = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}$/, 'expected 1 to 64 letters, digits, and _ . : / - after the first');
export const metadataValue = z.string().max(1_024);

/** An absolute path in a machine, without `.` and `..`, and not `/` itself. */
const mountPath = z
  .string()
  .max(256)
  .regex(/^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/, 'expected an absolute path such as /data');

function toFields(object: MakeObject) {
  return {
    image: z.string().min(1).max(255).optional(),
    rootfs: z.string().min(1).max(255).optional(),
    guest: object({
      cpus: z.int().min(1).max(64).optional(),
      cpu_kind: z.enum(['shared', 'performance']).optional(),
      memory_mb: z.int().min(1).max(1_048_576).optional(),
      kernel_args: z.array(word).max(WORDS_MAX).optional(),
    }).optional(),
    init: object({
      exec: words.optional(),
      swap_size_mb: z.int().min(0).max(1_048_576).nullable().optional(),
    }).optional(),
    env: z
      .record(envName, z.string().max(ENV_CAP_BYTES))
      .refine(
        (env) =>
          Object.entries(env).reduce((sum, [name, value]) => sum + name.length + value.length, 0) <= ENV_CAP_BYTES,
        {
          error: `is larger than ${ENV_CAP_BYTES / 1024} KB in all`,
        },
      )
      .optional(),
    mounts: z
      .array(object({ volume: z.string().min(1).max(64), path: mountPath }))
      .max(MOUNTS_MAX)
      .optional(),
    services: z.array(toService(object)).max(SERVICES_MAX).optional(),
    http_service: toHttpService(object).optional(),
    /** What follows an end that was not asked for; `on-failure` when absent (DECISIONS.md, "Restart of a machine"). */
    restart: object({ policy: restartPolicy.optional(), max_retries: z.int().min(0).max(1_000).optional() }).optional(),
    auto_destroy: z.boolean().optional(),
    metadata: z
      .record(metadataKey, metadataValue)
      .refine((metadata) => Object.keys(metadata).length <= METADATA_MAX, {
        error: `has more than ${METADATA_MAX} entries`,
      })
      .optional(),
    stop_config: object({ signal: z.string().max(16).optional(), timeout: duration.optional() }).optional(),
    /**
     * Remora's own field: what runs the machine. Under `process` the kernel is the host's, so that its memory and swap say
     * nothing of the machine.
     */
    driver: z.string().max(32).optional(),
    /** Remora's own field: what the machine reaches besides the platform (DECISIONS.md, "Network of a virtual machine"). */
    network: z.enum(['none', 'egress']).optional(),
  };
}

export const httpServiceSettings = toHttpService(lenient);
export type HttpServiceSettings = z.infer<typeof httpServiceSettings>;

/** A configuration as it is kept and shown. A field that it does not know is left out: the platform may be another one. */
export const machineConfig = z.object({
  ...toFields(lenient),
  schedule: z.string().nullable().optional(),
  /** Remora's own field: the machine is run elsewhere, and the platform never starts, suspends or stops it. */
  external: z.boolean().optional(),
});
export type MachineConfig = z.infer<typeof machineConfig>;

/** A configuration as a client sends it. A field that it does not know is refused: it would have no effect. */
export const machineConfigRequest = z.strictObject({
  ...toFields(strict),
  schedule: z.enum(['hourly', 'daily', 'weekly', 'monthly']).nullable().optional(),
});
export type MachineConfigRequest = z.infer<typeof machineConfigRequest>;
