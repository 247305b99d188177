// Why the image of the process is replaced.

export type ReplaceCause = 'resume' | 'upgrade';
