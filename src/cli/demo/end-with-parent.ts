/**
 * Loaded before the daemon's own program: ends the daemon in good order when the demonstration that started it lets go
 * of it or is gone, however that came about. On Windows, where no signal can ask for it, this is the one orderly way.
 */
function end(): void {
  if (process.listenerCount("SIGTERM") > 0) process.emit("SIGTERM", "SIGTERM");
  else process.exit();
}

process.once("disconnect", end);
// The channel must not keep the process alive.
process.channel?.unref();
// It may have been closed before anybody listened.
if (!process.connected) end();
