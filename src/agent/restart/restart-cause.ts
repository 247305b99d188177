// Why the agent ends to be started again.

export type RestartCause = 'resume' | 'upgrade';
