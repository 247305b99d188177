// The flag of every command that answers programs too.

export const jsonFlag = { type: 'boolean', summary: 'JSON as it was answered, for programs' } as const;
