// The headers by which an agent says which life of its machine a call comes from (resume.md, section 3).

/** Resumes counted on this machine, a decimal number that never goes back. */
export const generationHeader = 'remora-generation';

/** 16 random bytes as 32 hex digits, new after every resume: two machines of one snapshot differ in it. */
export const incarnationHeader = 'remora-incarnation';
