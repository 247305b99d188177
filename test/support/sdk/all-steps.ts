// A step for every method of `@fly/sprites`, in groups that need nothing of each other; the order within a group counts.
import type { Steps } from './sdk-stack.ts';
import { checkpointSteps } from './steps/checkpoint-steps.ts';
import { clientSteps } from './steps/client-steps.ts';
import { controlSteps } from './steps/control-steps.ts';
import { fileSteps } from './steps/file-steps.ts';
import { processSteps } from './steps/process-steps.ts';
import { proxySteps } from './steps/proxy-steps.ts';
import { serviceSteps } from './steps/service-steps.ts';
import { spriteSteps } from './steps/sprite-steps.ts';

export const stepGroups: Readonly<Record<string, Steps>> = {
  records: { ...clientSteps, ...spriteSteps, ...checkpointSteps },
  processes: { ...processSteps, ...controlSteps },
  services: { ...serviceSteps, ...proxySteps },
  files: fileSteps,
};

export const allSteps: Steps = Object.assign({}, ...Object.values(stepGroups));
