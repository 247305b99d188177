#!/usr/bin/perl
# Heals the random numbers of a machine that was restored from a snapshot, on a kernel that does not notice: mixes in what copies
# of the machine do not share, and makes the kernel take a new key at once. Then writes the generation it did that for to
# `reseeded` beside the file `generation`. Needs CAP_SYS_ADMIN, and of Perl only what Debian calls essential.
use strict;
use warnings;
use Fcntl;
use POSIX ();

my $dir = shift // '/run/remora';
# Each pass takes the kernel another number of nanoseconds, which the first lines of timer_list and schedstat tell.
my $PASSES = 32;
my $PART_BYTES = 4096;
my @COUNTERS = qw(/proc/timer_list /proc/self/schedstat /proc/self/stat /proc/interrupts /proc/stat);
# RNDRESEEDCRNG of linux/random.h; a few architectures number requests in another way.
my $RESEED = (POSIX::uname())[4] =~ /^(?:alpha|mips|ppc|powerpc|sparc)/ ? 0x20005207 : 0x5207;

sub first_part {
    my ($path) = @_;
    my $text = '';
    open(my $file, '<', $path) or return $text;
    sysread($file, $text, $PART_BYTES);
    return $text // '';
}

sub reseed {
    my $seed = '';
    for (1 .. $PASSES) { $seed .= first_part($_) for @COUNTERS }
    open(my $random, '+<', '/dev/urandom') or die "/dev/urandom cannot be opened: $!\n";
    for (my $at = 0; $at < length $seed;) {
        my $written = syswrite($random, $seed, $PART_BYTES, $at) or die "/dev/urandom cannot be written: $!\n";
        $at += $written;
    }
    defined ioctl($random, $RESEED, 0) or die "the kernel does not reseed: $!\n";
}

sub note {
    my ($generation) = @_;
    unlink "$dir/reseeded~";
    umask 022;
    sysopen(my $file, "$dir/reseeded~", O_WRONLY | O_CREAT | O_EXCL, 0644) or die "$dir/reseeded~ cannot be made: $!\n";
    print $file $generation;
    close $file or die "$dir/reseeded~ cannot be written: $!\n";
    rename "$dir/reseeded~", "$dir/reseeded" or die "$dir/reseeded cannot be written: $!\n";
}

# A resume in the middle of this starts no second run, so the generation is read again.
my ($done, $generation) = ('', first_part("$dir/generation"));
for (my $runs = 0; $runs == 0 || ($generation ne $done && $runs < 10); $runs += 1) {
    reseed();
    note($generation) if $generation ne '';
    print 'new seed for ', $generation eq '' ? "no generation\n" : "generation $generation";
    ($done, $generation) = ($generation, first_part("$dir/generation"));
}
