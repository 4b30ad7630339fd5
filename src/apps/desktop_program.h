// DesktopProgram: what serves a graphical Linux desktop to a browser: a program in Python that
// needs nothing but its standard library, Xtigervnc and the pages of noVNC.
//
// It starts the X server, which takes viewers and X clients on Unix sockets alone (those of X need
// a cookie that its user alone can read), and the desktop or window manager in it. Both end with
// it, and it ends with either of them. On the app's socket it serves noVNC, carries what noVNC's
// WebSocket says to the X server, and tells at /activity when a key or the pointer was used last:
// pages ask for pictures by themselves, and that is no use. Arguments: the session's command, in
// place of the first desktop or window manager that there is.
#pragma once

namespace dove::apps {

extern const char kDesktop[];

}  // namespace dove::apps
