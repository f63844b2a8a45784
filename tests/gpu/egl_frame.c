// SPDX-License-Identifier: MIT
// Draws a triangle by OpenGL ES on each GPU that EGL shows without a display, and reads the frame
// back. Prints a line for each.

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { side = 64, most_devices = 64 };

static bool check(bool done, const char* step)
{
    if (!done)
        warnx("%s: EGL error 0x%x", step, (unsigned)eglGetError());
    return done;
}

static GLuint shader(GLenum type, const char* source)
{
    const GLuint made = glCreateShader(type);
    glShaderSource(made, 1, &source, NULL);
    glCompileShader(made);
    return made;
}

/// Fills the lower left half of the frame with green, over blue.
static bool draw(void)
{
    static const GLfloat corners[] = {-1, -1, 1, -1, -1, 1};
    GLint linked = GL_FALSE;
    const GLuint program = glCreateProgram();
    glAttachShader(program, shader(GL_VERTEX_SHADER, "attribute vec2 corner;\n"
                                                     "void main() {\n"
                                                     "    gl_Position = vec4(corner, 0.0, 1.0);\n"
                                                     "}\n"));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, "void main() {\n"
                                                       "    gl_FragColor = vec4(0, 1, 0, 1);\n"
                                                       "}\n"));
    glBindAttribLocation(program, 0, "corner");
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (linked == GL_FALSE) {
        warnx("compile the shaders: OpenGL error 0x%x", glGetError());
        return false;
    }
    glViewport(0, 0, side, side);
    glClearColor(0, 0, 1, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glUseProgram(program);
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    return true;
}

/// Whether the pixels away from the diagonal have their colour.
static unsigned count_wrong(unsigned char pixels[side][side][4])
{
    static const unsigned char green[4] = {0, 255, 0, 255};
    static const unsigned char blue[4] = {0, 0, 255, 255};
    unsigned wrong = 0;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
            if (x + y < side - 2 || x + y > side)
                wrong += memcmp(pixels[y][x], x + y < side ? green : blue, 4) != 0;
    return wrong;
}

static bool draw_and_read(void)
{
    static unsigned char pixels[side][side][4];
    memset(pixels, 0, sizeof pixels);
    if (!draw())
        return false;
    glReadPixels(0, 0, side, side, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    const unsigned wrong = count_wrong(pixels);
    printf("%s, OpenGL %s: %u pixels wrong\n", (const char*)glGetString(GL_RENDERER),
           (const char*)glGetString(GL_VERSION), wrong);
    return wrong == 0;
}

static bool in_context(EGLDisplay display, EGLConfig config)
{
    static const EGLint size[] = {EGL_WIDTH, side, EGL_HEIGHT, side, EGL_NONE};
    static const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    EGLSurface surface = eglCreatePbufferSurface(display, config, size);
    if (!check(surface != EGL_NO_SURFACE, "make a surface"))
        return false;
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    const bool done =
        check(context != EGL_NO_CONTEXT, "make a context")
        && check(eglMakeCurrent(display, surface, surface, context) == EGL_TRUE, "use the context")
        && draw_and_read();
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context != EGL_NO_CONTEXT)
        eglDestroyContext(display, context);
    eglDestroySurface(display, surface);
    return done;
}

static bool test_display(EGLDisplay display)
{
    static const EGLint wanted[] = {EGL_SURFACE_TYPE,
                                    EGL_PBUFFER_BIT,
                                    EGL_RENDERABLE_TYPE,
                                    EGL_OPENGL_ES2_BIT,
                                    EGL_RED_SIZE,
                                    8,
                                    EGL_GREEN_SIZE,
                                    8,
                                    EGL_BLUE_SIZE,
                                    8,
                                    EGL_ALPHA_SIZE,
                                    8,
                                    EGL_NONE};
    EGLConfig config = NULL;
    EGLint found = 0;
    if (!check(display != EGL_NO_DISPLAY && eglInitialize(display, NULL, NULL) == EGL_TRUE,
               "start EGL"))
        return false;
    eglBindAPI(EGL_OPENGL_ES_API);
    const bool done =
        check(eglChooseConfig(display, wanted, &config, 1, &found) == EGL_TRUE && found == 1,
              "find a form of pixels")
        && in_context(display, config);
    eglTerminate(display);
    return done;
}

/// Devices of the processor have no node of a GPU, and are left out.
static bool is_gpu(EGLDeviceEXT device, PFNEGLQUERYDEVICESTRINGEXTPROC query)
{
    const char* extensions = query(device, EGL_EXTENSIONS);
    return extensions != NULL
           && (strstr(extensions, "EGL_NV_device_cuda") != NULL
               || strstr(extensions, "EGL_EXT_device_drm") != NULL)
           && strstr(extensions, "EGL_MESA_device_software") == NULL;
}

int main(void)
{
    PFNEGLQUERYDEVICESEXTPROC query_devices =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    PFNEGLQUERYDEVICESTRINGEXTPROC query_string =
        (PFNEGLQUERYDEVICESTRINGEXTPROC)eglGetProcAddress("eglQueryDeviceStringEXT");
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDeviceEXT devices[most_devices];
    EGLint found = 0;
    unsigned count = 0;
    int failed = 0;
    if (query_devices == NULL || query_string == NULL || get_display == NULL) {
        warnx("EGL cannot list devices");
        return 1;
    }
    if (!check(query_devices(most_devices, devices, &found) == EGL_TRUE, "list the GPUs"))
        return 1;
    for (EGLint i = 0; i < found; ++i) {
        if (!is_gpu(devices[i], query_string))
            continue;
        ++count;
        failed += !test_display(get_display(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL));
    }
    if (count == 0)
        warnx("EGL sees no GPU");
    return count > 0 && failed == 0 ? 0 : 1;
}
