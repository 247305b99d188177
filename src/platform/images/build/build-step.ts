/** Told before each step of a build that takes more than a moment. */
export type BuildStep = (text: string) => void;
